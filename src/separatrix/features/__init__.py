"""Raw material as columns of numbers: words, signals, sequences, spectra."""

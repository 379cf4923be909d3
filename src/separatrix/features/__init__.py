"""Raw material as columns of numbers: words, signals, sequences, spectra, series."""

from separatrix.features.convolutions import RandomConvolutions

__all__ = ["RandomConvolutions"]

"""How the manual is built: offline, with every warning an error."""

import sys
from pathlib import Path

import click
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

import separatrix
from separatrix.cli.program import program
from separatrix_papers.command import reproduce_command

sys.path.insert(0, str(Path(__file__).parent))
import make_papers

project = "separatrix"
author = "the separatrix developers"
release = version = separatrix.__version__
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
# said of every script when a folder above has a space in its name, which breaks no link
suppress_warnings = ["sphinx_gallery.space_in_filename"]
default_role = "py:obj"

# API pages: the class template lists the methods, numpydoc must not list them again
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": None,
    "capture_repr": (),
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"separatrix {version}"
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "footer_start": [],
    "footer_end": [],
    "show_prev_next": True,
    "navigation_depth": 3,
    "show_nav_level": 2,
    "secondary_sidebar_items": ["page-toc", "sourcelink"],
}
html_sidebars = {"index": []}
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True


class CommandHelp(Directive):
    """What a command prints as its help, so that the manual says the same."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """A block of text."""
        words = ["separatrix", *self.arguments]
        commands = {**program.commands, "reproduce": reproduce_command}
        command = commands[self.arguments[0]] if self.arguments else program
        context = click.Context(command, info_name=" ".join(words), terminal_width=88)
        text = f"$ {' '.join(words)} --help\n{command.get_help(context)}"
        return [nodes.literal_block(text, text, language="none")]


def setup(app: Sphinx) -> None:
    """Make the directive known, and draw the figures of the sources."""
    app.add_directive("command-help", CommandHelp)
    app.connect("builder-inited", lambda app: make_papers.pictures(Path(app.srcdir)))

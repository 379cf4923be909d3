"""Pages made of templates: text is escaped, but for the style and the script of this package."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from separatrix.report import wording


def render_template(name: str, *, code: Mapping[str, str] | None = None, **values: Any) -> str:
    """A page.

    Parameters
    ----------
    name : str
        A file among the templates of this package.
    code : mapping of str
        Text that is put into the page as it is.
    **values
        Values that the template uses; all text is escaped.
    """
    from markupsafe import Markup

    given = {key: Markup(text) for key, text in (code or {}).items()}
    return str(_environment().get_template(name).render(**values, **given)).lstrip()


@cache
def _environment() -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise ImportError("pages are made with Jinja2: pip install 'separatrix[app]'") from None
    from markupsafe import Markup

    made = Environment(
        loader=PackageLoader("separatrix.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["read_asset"] = lambda name: Markup(read_asset(name))
    made.filters |= {
        "percent": wording.format_percent,
        "score": wording.format_score,
        "seconds": wording.format_seconds,
        "count": wording.format_count,
        "names": lambda names: wording.join_names(names, 30),
        "words": split_words,
    }
    return made


def split_words(name: str) -> list[str]:
    """A name in the words that it is made of, where it may be cut.

    Examples
    --------
    >>> split_words("LocalQDA")
    ['Local', 'QDA']
    """
    return re.split(r"(?<=[a-z])(?=[A-Z])", name)


def read_asset(name: str) -> str:
    """The text of a file of this package."""
    return files("separatrix.report").joinpath(name).read_text(encoding="utf-8")

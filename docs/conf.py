"""The documentation site: `make docs` builds it, with warnings as errors."""

from __future__ import annotations

import sys
from pathlib import Path

from dssfn import __version__

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "extensions"))

project = "dssfn"
author = "The dssfn developers"
copyright = "the dssfn developers"
version = release = __version__

extensions = [
    "command_reference",
    "inherited_docs",
    "mathml",
    "myst_parser",
    "numpydoc",
    "repository_pages",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "evidence/tables.md"]
templates_path = ["_templates"]
language = "en"
default_role = "code"  # names in docstrings stand in single backticks
smartquotes = False  # options are shown as they are typed: --data
toc_object_entries_show_parents = "hide"

# Pages are Markdown that a repository host shows as well.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"  # types stand in the docstrings
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # such pages load scripts from elsewhere
    "min_reported_time": 1e9,  # times of one machine are of no use to readers
}

html_theme = "pydata_sphinx_theme"
html_title = "dssfn"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # needs a web server; the search itself does not
html_theme_options = {
    "logo": {"text": "dssfn"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": False,
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": []}

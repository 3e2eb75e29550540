"""The paper's experiments on a page: tables, figures and findings, from rows."""

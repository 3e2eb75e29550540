"""What people look at: tables, figures and pages, from plain figures."""

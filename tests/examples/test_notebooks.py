"""What a reader of the gallery downloads as a notebook runs from top to bottom."""

import pytest

from tests.support.gallery import PATIENCE, SCRIPTS, environment

nbclient = pytest.importorskip("nbclient", reason="needs nbclient")
pytest.importorskip("ipykernel", reason="needs ipykernel")
notebook = pytest.importorskip("sphinx_gallery.notebook", reason="needs sphinx-gallery")


def as_notebook(script, folder):
    """Return a script as the converter of sphinx-gallery writes it."""
    import nbformat

    copy = folder / script.name
    copy.write_bytes(script.read_bytes())
    notebook.python_to_jupyter_cli([str(copy)])
    return nbformat.read(copy.with_suffix(".ipynb"), as_version=4)


@pytest.mark.filterwarnings("ignore")  # Jupyter's own
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_its_figures(script, tmp_path, monkeypatch):
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("MPLBACKEND", raising=False)
    monkeypatch.delenv("DSSFN_DATA_DIR", raising=False)
    found = as_notebook(script, tmp_path)
    assert found.cells[0].cell_type == "markdown"
    assert found.cells[0].source.startswith("\n# ")
    client = nbclient.NotebookClient(
        found,
        timeout=PATIENCE,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    outputs = [
        one for cell in found.cells if cell.cell_type == "code" for one in cell.outputs
    ]
    figures = [one for one in outputs if "image/png" in one.get("data", {})]
    assert len(figures) >= script.read_text("utf-8").count("plt.subplots")
    assert [one.text for one in outputs if one.get("name") == "stderr"] == []
    # A bare repr of an object is noise to a reader.
    assert [one for one in outputs if one.output_type == "execute_result"] == []

"""Makes the modules of agent_session_service that follow from the OpenAPI document, and the blocking client from the async one.

Each build does it (``hatch_build.py``), and so does ``python -m generate`` in this folder. The files are in no revision.
"""

import json
from pathlib import Path

from . import blocking, models, operations
from .document import Document

HEADER = "# Made by each build. Not to be edited.\n"
ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "agent_session_service"


def generate(document: Path | None = None) -> None:
    """Writes ``_generated`` and ``_sync``. ``document``: the OpenAPI document, by default that of the service."""
    # A source distribution has the document beside pyproject.toml, a checkout in api/.
    source = document or next(path for path in (ROOT / "openapi.json", ROOT.parent / "api" / "openapi.json") if path.exists())
    doc = Document(json.loads(source.read_text("utf-8")))
    generated = PACKAGE / "_generated"
    write(generated / "__init__.py", "")
    write(generated / "models.py", models.module(doc))
    write(generated / "fields.py", operations.fields_module(doc))
    write(generated / "async_operations.py", operations.operations_module(doc))
    write(generated / "operations.py", blocking.blocking((generated / "async_operations.py").read_text("utf-8")))
    for path in sorted((PACKAGE / "_async").glob("*.py")):
        write(PACKAGE / "_sync" / path.name, blocking.blocking(path.read_text("utf-8")))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = text if text.startswith(HEADER) else HEADER + text
    # An unchanged file keeps its time, so that tools need not read it again.
    if not path.exists() or path.read_text("utf-8") != whole:
        path.write_text(whole, "utf-8")

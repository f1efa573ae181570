"""Follows the session of an order: `python3 reader.py A-17`. Each stored event becomes one line of .data/reader-A-17.jsonl.

Kill it at any time: started again, it goes on behind the last line.
"""

import json
import os
import sys
import time
from pathlib import Path

from agent_session_service import Client, models

# Longer than the service is away when it is killed and started again.
RETRY_TIMEOUT = 600


def find_session(client: Client, order: str) -> str:
    """Returns the id of the order's session, which the desk may not have created yet."""
    while True:
        for session in client.list_sessions(metadata={"order": order}).items:
            return session.id
        time.sleep(1)


def last_frame(path: Path) -> str | None:
    """The id of the last frame that was stored. A line that a crash cut off does not count and is removed."""
    if not path.exists():
        return None
    whole = [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
    path.write_text("".join(whole))
    frame: str | None = json.loads(whole[-1])["frame"] if whole else None
    return frame


def main(order: str) -> None:
    path = Path(os.environ.get("DESK_DATA", ".data")) / f"reader-{order}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with Client(os.environ.get("BASE", "http://127.0.0.1:8080"), os.environ["KEY"], retry_for=RETRY_TIMEOUT) as client:
        session = find_session(client, order)
        stream = client.stream(session, last_event_id=last_frame(path), reconnect_for=RETRY_TIMEOUT)
        for event in stream:
            if isinstance(event, models.DeltaEvent | models.RetryEvent):
                continue  # A fragment of a text that comes whole later.
            line = {"frame": stream.last_event_id, "event": event.model_dump(mode="json", by_alias=True, exclude_unset=True)}
            with path.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(order, event.type, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])

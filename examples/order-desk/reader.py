"""Follows the session of an order: `python3 reader.py A-17`. Each stored event becomes one line of .data/reader-A-17.jsonl.

Kill it at any time: started again, it goes on behind the last line.
"""

import json
import os
import sys
import time
from pathlib import Path

import requests

BASE = os.environ.get("BASE", "http://127.0.0.1:8080")
ENDS = ("turn.completed", "turn.cancelled", "turn.failed")
order = sys.argv[1]
path = Path(os.environ.get("DESK_DATA", ".data")) / f"reader-{order}.jsonl"
http = requests.Session()
http.headers["Authorization"] = f"Bearer {os.environ['KEY']}"


def find_session():
    """Returns the id of the order's session, which the desk may not have created yet."""
    while True:
        try:
            answer = http.get(f"{BASE}/v1/sessions", params={"metadata[order]": order}, timeout=30)
            if answer.status_code < 500:
                answer.raise_for_status()
                if answer.json()["items"]:
                    return answer.json()["items"][0]["id"]
        except requests.ConnectionError:
            pass
        time.sleep(1)


def last_frame():
    """The id of the last frame that was stored. A line that a crash cut off does not count and is removed."""
    if not path.exists():
        return ""
    whole = [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
    path.write_text("".join(whole))
    return json.loads(whole[-1])["frame"] if whole else ""


def frames(answer):
    frame = {}
    for line in answer.iter_lines():
        if line:
            name, _, value = line.decode().partition(":")
            frame[name] = value.removeprefix(" ")
        else:
            yield frame
            frame = {}


def follow(session_id, last_id):
    """Yields (id of the frame, event) to the end of the turn, over as many connections as it takes."""
    while True:
        try:
            url = f"{BASE}/v1/sessions/{session_id}/events/stream"
            headers = {"Accept": "text/event-stream", "Last-Event-ID": last_id}
            with http.get(url, headers=headers, stream=True, timeout=30) as answer:
                if answer.status_code < 500:
                    answer.raise_for_status()
                for frame in frames(answer):
                    if int(frame.get("retry", 0)) >= 15_000:
                        return  # The last line is the turn's end already.
                    if "data" not in frame:
                        continue
                    last_id = frame["id"]
                    event = json.loads(frame["data"])
                    yield last_id, event
                    if event["type"] in ENDS:
                        return
        except (requests.ConnectionError, requests.exceptions.ChunkedEncodingError, requests.Timeout):
            pass
        time.sleep(2)


session = find_session()
path.parent.mkdir(parents=True, exist_ok=True)
for frame_id, event in follow(session, last_frame()):
    if "id" not in event:
        continue  # A fragment of a text that comes whole later.
    with path.open("a") as file:
        file.write(json.dumps({"frame": frame_id, "event": event}) + "\n")
    print(order, event["type"], flush=True)

"""A stand-in for a chat model behind an OpenAI-compatible address, for trying things out without a key.

`python chat_stand_in.py &` listens on port 18765 of this machine for a minute. It answers with a number made of a checksum of
the question, in words, and refuses about one question in a hundred.
"""

from __future__ import annotations

import json
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Chat(BaseHTTPRequestHandler):
    """POST /v1/chat/completions."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """One answer."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number = zlib.crc32(asked["messages"][-1]["content"].encode())
        answer = "I cannot help with that." if number % 97 == 0 else f"Score: {60 + number % 21}"
        body = json.dumps({"choices": [{"message": {"role": "assistant", "content": answer}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 18765), Chat)
    threading.Timer(60, server.shutdown).start()
    server.serve_forever()

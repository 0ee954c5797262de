"""A provider on loopback for the specs: answers requests as a script says, one after the other.

    python3 loopback.py SCRIPT PORT_FILE LOG

SCRIPT is a JSON list of answers: {"status", "headers", "body"} with a text or any JSON, or {"events": [text, ...]} as a
stream; "pause" are seconds before each piece, "cut" is the number of bytes after which the connection breaks, "raw" is sent
in the place of all that. LOG gets a JSON line for each request. The server ends with its last answer, or after a minute.
"""
import http.server
import json
import os
import sys
import threading
import time

script, port_file, log = sys.argv[1:4]
answers = json.load(open(script))
place = 0


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def pieces(self, answer):
        if "events" in answer:
            return [piece.encode() for piece in answer["events"]]
        body = answer.get("body", "")
        return [(body if isinstance(body, str) else json.dumps(body)).encode()]

    def do_POST(self):
        global place
        answer, place = answers[place], place + 1
        is_last = place == len(answers)     # now: the next request may come before this one has ended
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with open(log, "a") as out:
            json.dump({"path": self.path, "headers": dict(self.headers), "body": json.loads(body)}, out)
            out.write("\n")
        self.answer(answer)
        self.close_connection = True
        if is_last:
            threading.Thread(target=self.server.shutdown).start()

    def answer(self, answer):
        pieces, pause = self.pieces(answer), answer.get("pause", 0)
        kind = "text/event-stream" if "events" in answer else "application/json"
        try:
            if "raw" in answer:
                return self.wfile.write(answer["raw"].encode())
            self.send_response(answer.get("status", 200))
            for name, value in {"Content-Type": kind, **answer.get("headers", {})}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(sum(map(len, pieces))))
            self.end_headers()
            left = answer.get("cut", 1 << 30)
            for piece in pieces:
                time.sleep(pause)
                self.wfile.write(piece[:left])
                self.wfile.flush()
                left -= len(piece)
                if left <= 0:
                    break
        except OSError:
            pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(port_file + ".new", "w") as out:
    out.write(str(server.server_address[1]))
os.rename(port_file + ".new", port_file)
timer = threading.Timer(60, server.shutdown)
timer.daemon = True
timer.start()
server.serve_forever()

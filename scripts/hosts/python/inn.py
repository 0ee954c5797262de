"""Ebb from Python by ctypes alone: a function for scripts, a task that asks a model, an event loop, errors.

    LD_LIBRARY_PATH=$PREFIX/lib python3 inn.py
"""
import ctypes, json
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint64, c_void_p

class Error(ctypes.Structure):
    _fields_ = [("status", c_int), ("code", c_char_p), ("message", c_char_p)]

class Event(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("kind", c_int), ("task", c_void_p), ("chat", c_void_p), ("status", c_int),
                ("json", c_char_p), ("json_size", c_size_t)]

OK, NONE, ARGUMENT, REQUEST, NO_LIMIT = 0, 2, 4, 1, 2**64 - 1
TALK = b"""local chat, thing = ...
local answer = request { price = inn.price(thing), messages = chat.windows:render() }
chat:append { role = "assistant", content = answer }
return answer"""

# Without argtypes a call would cut pointers to the 32 bits of an int. Handles and bytes go in as they are.
ebb = ctypes.CDLL("libebb.so.0")
TYPES = {"p": c_void_p, "n": c_size_t, "u": c_uint64}
for name, types in {"runtime_new": "pp", "runtime_free": "p", "last_error": "p", "register": "ppppu", "sink_add": "ppn",
                    "chat_new": "ppnp", "chat_append": "ppn", "task_script": "pppnpnp", "task_free": "p",
                    "step": "puu", "next_event": "pp", "answer": "ppn"}.items():
    getattr(ebb, "ebb_" + name).argtypes = [TYPES[letter] for letter in types]
ebb.ebb_last_error.restype = POINTER(Error)

def check(status):
    if status <= NONE: return status
    raise RuntimeError(ebb.ebb_last_error(runtime).contents.message.decode())

@ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p)
def price(user, arguments, size, result):        # no exception may leave it: the script gets an error instead
    try: status, answer = OK, {"room": 4, "breakfast": 1}[json.loads(ctypes.string_at(arguments, size))[0]]
    except Exception as problem: status, answer = ARGUMENT, f"there is no price of {problem}"
    text = (json.dumps(answer) if status == OK else answer).encode()
    return ebb.ebb_sink_add(result, text, len(text)) or status

def talk(chat, thing):
    task, event, arguments = c_void_p(), Event(ctypes.sizeof(Event)), json.dumps(thing).encode()
    check(ebb.ebb_task_script(chat, b"talk", TALK, len(TALK), arguments, len(arguments), byref(task)))
    while event.kind in (0, REQUEST):            # until the task is done or has failed
        check(ebb.ebb_step(runtime, 1000, NO_LIMIT))     # 1 ms of scripts at most, between what else the program does
        while check(ebb.ebb_next_event(runtime, byref(event))) == OK and event.kind == REQUEST:
            answer = json.dumps(f"{json.loads(event.json)['price']} silver").encode()    # ask a model here
            check(ebb.ebb_answer(event.task, answer, len(answer)))
    print("talk about", thing, "ended:", event.json.decode())
    ebb.ebb_task_free(task)

runtime, chat = c_void_p(), c_void_p()
if ebb.ebb_runtime_new(None, byref(runtime)) != OK: raise MemoryError
try:
    check(ebb.ebb_register(runtime, b"inn.price", price, None, 0))
    check(ebb.ebb_chat_new(runtime, None, 0, byref(chat)))
    for thing in ("room", "dragon"): talk(chat, thing)
    wrong = b'{"role": "pirate", "content": "Ahoy."}'
    check(ebb.ebb_chat_append(chat, wrong, len(wrong)))
except RuntimeError as problem:
    print("error:", problem)
finally:
    ebb.ebb_runtime_free(runtime)

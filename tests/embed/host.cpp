// The same in C++, with what differs there: RAII over the handles. Scripts call
// functions of the host's, by JSON (ebb.h) and on Lua's stack (ebb_lua.h).
#include <ebb.h>
#include <ebb_lua.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace {

struct Free {
  void operator()(ebb_runtime *runtime) const { ebb_runtime_free(runtime); }
};

void log(void *user, ebb_log_level, const char *line, size_t size) {
  static_cast<std::string *>(user)->append(line, size);
}

ebb_status greet(void *, const char *arguments, size_t size, ebb_sink *result) {
  const std::string_view given(arguments, size);   // ["evening"]
  const std::string answer = "\"Good " + std::string(given.substr(2, size - 4)) + "\"";
  return ebb_sink_add(result, answer.data(), answer.size());
}

int add(const ebb_lua *lua, ebb_lua_state *L, void *) {
  lua->pushinteger(L, lua->checkinteger(L, 1) + lua->checkinteger(L, 2));
  return 1;
}

constexpr std::string_view POLICY = "return function(draft) print(host.greet(draft[1].text), add(2, 3)) end";

}  // namespace

int main() {
  std::string heard;
  ebb_config config = {};
  config.size = sizeof config;
  config.user = &heard;
  config.log = log;
  ebb_runtime *made = nullptr;
  if (ebb_runtime_new(&config, &made) != EBB_OK) return 1;
  std::unique_ptr<ebb_runtime, Free> runtime(made);
  ebb_chat *chat = nullptr;
  const std::string message = R"({"role": "user", "content": "evening"})";
  if (ebb_register(made, "host.greet", greet, nullptr, 50) != EBB_OK) return 1;
  if (ebb_lua_register(made, "add", add, nullptr, 0) != EBB_OK) return 1;
  if (ebb_chat_new(made, nullptr, 0, &chat) != EBB_OK) return 1;
  if (ebb_chat_append(chat, message.data(), message.size()) != EBB_OK) return 1;
  if (ebb_policy_load(made, "loud", POLICY.data(), POLICY.size()) != EBB_OK) return 1;
  if (ebb_chat_trim(chat, "loud", "{\"budget\":100}", 14, nullptr) != EBB_OK) return 1;
  std::printf("%s\n", heard.c_str());
  return 0;
}

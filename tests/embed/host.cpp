// The same in C++, with what differs there: RAII over the handles.
#include <ebb.h>

#include <cstdio>
#include <memory>
#include <string>

namespace {

struct Free {
  void operator()(ebb_runtime *runtime) const { ebb_runtime_free(runtime); }
};

void log(void *user, ebb_log_level, const char *line, size_t size) {
  static_cast<std::string *>(user)->append(line, size);
}

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
  const std::string message = R"({"role": "user", "content": "Good evening"})";
  const std::string policy = "return function(draft) print(draft[1].text) end";
  if (ebb_chat_new(made, nullptr, 0, &chat) != EBB_OK) return 1;
  if (ebb_chat_append(chat, message.data(), message.size()) != EBB_OK) return 1;
  if (ebb_policy_load(made, "loud", policy.data(), policy.size()) != EBB_OK) return 1;
  if (ebb_chat_trim(chat, "loud", "{\"budget\":100}", 14, nullptr) != EBB_OK) return 1;
  std::printf("%s\n", heard.c_str());
  return 0;
}

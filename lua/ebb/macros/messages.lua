--- Error messages of macros, in two languages.
--
-- Reports are in English. A text that is sent gets an error only where the
-- environment asks for it (`error_text`); the Chinese wording is the one that
-- templates written for AIO Hub know.

local texts = require "ebb.macros.text"

local messages = {}

local VALUE_BYTES_MAX = 200   -- of a value that a message repeats: enough to know it by

messages.languages = { "en", "zh" }

local WRAP = { en = "[error: %s]", zh = "[错误: %s]" }

-- `one` is the English form where the second value is 1.
local TEXTS = {
  needs = { en = "%s needs %d arguments: %s", one = "%s needs %d argument: %s", zh = "%s 需要%d个参数" },
  needs_some = {
    en = "%s needs at least %d arguments: %s", one = "%s needs at least %d argument: %s", zh = "%s 需要至少%d个参数" },
  too_many = { en = "%s has more than %d arguments", zh = "%s 的参数超过%d个" },
  not_integer = { en = "its arguments must be whole numbers", zh = "参数必须是有效的整数" },
  not_count = { en = "'%s' is not a count (0, 1, 2 ...)", zh = "'%s' 不是非负整数" },
  repeat_count = { en = "the number of repetitions must be a whole number from 0 on", zh = "重复次数必须是非负整数" },
  repeat_max = { en = "it repeats at most %d times", zh = "重复次数不能超过%d" },
  range = { en = "the smallest value must be below the largest", zh = "最小值必须小于最大值" },
  dice_form = { en = "not dice: expected NdM, such as 2d6", zh = "无效的骰子格式，应为 NdM" },
  dice_count = { en = "the number of dice must be within 1-%d", zh = "骰子数量必须在 1-%d 之间" },
  dice_sides = { en = "the number of sides must be within 1-%d", zh = "骰子面数必须在 1-%d 之间" },
  not_number = { en = "variable '%s' does not hold a number", zh = "变量 %s 不是数字" },
  not_offset = { en = "'%s' is no number of hours from -14 to 14", zh = "'%s' 不是 -14 到 14 之间的小时数" },
  not_instant = {
    en = "'%s' is no date such as 2025-11-07 or 2025-11-07T22:30:05Z", zh = "'%s' 不是有效的日期，例如 2025-11-07" },
  no_clock = { en = "there is no clock here", zh = "没有可用的时间" },
  no_locale = { en = "unknown language '%s'; there are %s", zh = "未知的语言: %s；可用: %s" },
  unknown = { en = "unknown macro: %s", zh = "未知的宏: %s" },
  no_macro = { en = "expected name or name::argument", zh = "应为 name 或 name::参数" },
  takes_none = { en = "%s takes no arguments", zh = "宏 %s 不接受参数" },
  takes_some = { en = "%s needs an argument", zh = "宏 %s 需要参数" },
  takes = { en = "%s takes %s arguments, %d given", zh = "宏 %s 需要 %s 个参数，但提供了 %d 个" },
  extra = {
    en = "%s takes %d arguments; the others are left out", one = "%s takes %d argument; the others are left out",
    zh = "%s 只接受%d个参数，其余被忽略" },
  raised = { en = "%s failed: %s", zh = "%s 失败: %s" },
  no_text = { en = "%s gave a %s instead of a text", zh = "%s 返回了 %s，而不是文本" },
  self_reference = { en = "%s refers to itself", zh = "%s 引用了自身" },
  too_deep = { en = "macros are nested more than %d deep", zh = "宏的嵌套超过%d层" },
  unclosed = { en = "'{{' is never closed", zh = "'{{' 没有结束" },
  limit = { en = "stopped: %s", zh = "已停止: %s" },
}

--- The text of a message; a key that is not ours is the author's own text.
---@param language string      "en" or "zh"
---@param key string
---@return string
function messages.text(language, key, ...)
  local forms = TEXTS[key]
  if not forms then return texts.short(key, VALUE_BYTES_MAX) end
  local values = table.pack(...)
  for i = 1, values.n do
    if type(values[i]) == "string" then values[i] = texts.short(values[i], VALUE_BYTES_MAX) end
  end
  local form = language == "en" and values[2] == 1 and forms.one or forms[language]
  return form:format(table.unpack(values, 1, values.n))
end

--- An error as it is in an expanded text.
---@param language string
---@param text string
---@return string
function messages.wrap(language, text)
  return WRAP[language]:format(text)
end

return messages

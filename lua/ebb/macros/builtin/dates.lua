--- Date and time, from the environment's clock. Dates hold for a day; what tells
-- hours or less differs in each request, and no cache keeps a prompt with it.

local calendar = require "ebb.macros.calendar"
local locales = require "ebb.macros.locales"

local function now_of(call)
  local ms = call.environment:instant()
  return ms and calendar.date(ms, call.environment.zone)
end

--- name, stability, pattern or function of the date, summary, aliases.
local DATES = {
  { "time", "volatile", "h:mm A", "the time, as 10:30 PM" },
  { "time24", "volatile", "HH:mm", "the time, as 22:30" },
  { "date", "session", "MMMM D, YYYY", "the date, as November 7, 2025" },
  { "date_ymd", "session", "YYYY-MM-DD", "the date, as 2025-11-07", { "isodate" } },
  { "datetime", "volatile", "YYYY-MM-DD HH:mm:ss", "date and time, as 2025-11-07 22:30:05" },
  { "weekday", "session", "dddd", "the day of the week, as Friday" },
  { "date_cn", "session", locales.chinese_date, "the date in Chinese" },
  { "datetime_cn", "volatile", locales.datetime "zh-CN", "date and time in Chinese" },
  { "weekday_cn", "session", locales.weekday "zh-CN", "the day of the week in Chinese" },
  { "date_jp", "session", locales.japanese_date, "the date in Japanese" },
  { "datetime_jp", "volatile", locales.japanese_datetime, "date and time in Japanese" },
  { "date_ko", "session", locales.korean_date, "the date in Korean" },
}

local macros = {}

for _, row in ipairs(DATES) do
  local name, stability, form, summary, aliases = table.unpack(row)
  macros[#macros + 1] = {
    name = name,
    summary = summary,
    stability = stability,
    aliases = aliases,
    run = function(call)
      local date = now_of(call)
      if not date then return nil, "no_clock" end
      return type(form) == "string" and calendar.format(date, form) or form(date)
    end,
  }
end

macros[#macros + 1] = {
  name = "isotime",
  summary = "date and time in UTC, as 2025-11-07T22:30:05.000Z",
  stability = "volatile",
  run = function(call)
    local ms = call.environment:instant()
    if not ms then return nil, "no_clock" end
    return calendar.format(calendar.date(ms, 0), "YYYY-MM-DD[T]HH:mm:ss.SSS[Z]")
  end,
}

macros[#macros + 1] = {
  name = "timestamp",
  summary = "milliseconds since 1970",
  stability = "volatile",
  run = function(call)
    local ms = call.environment:instant()
    if not ms then return nil, "no_clock" end
    return ms
  end,
}

macros[#macros + 1] = {
  name = "datetime_format",
  summary = "date and time by a pattern of YYYY MM DD HH mm ss and the like; [words] are text",
  parameters = { "pattern?" },
  stability = "volatile",
  aliases = { "datetimeformat" },
  example = "{{datetime_format::DD.MM.YYYY HH:mm}}",
  run = function(call, pattern)
    local date = now_of(call)
    if not date then return nil, "no_clock" end
    return calendar.format(date, pattern and pattern ~= "" and pattern or "YYYY-MM-DD HH:mm:ss")
  end,
}

macros[#macros + 1] = {
  name = "datetime_locale",
  summary = "date and time in the form of a language",
  parameters = { "language?" },
  stability = "volatile",
  example = "{{datetime_locale::fr}}",
  run = function(call, language)
    local date = now_of(call)
    if not date then return nil, "no_clock" end
    if language == nil or language == "" then language = "zh-CN" end
    local locale = locales.find(language)
    if not locale then return nil, "no_locale", language, locales.names() end
    return locales.datetime(locale)(date)
  end,
}

return macros

--- Date and time, from the environment's clock. Dates hold for a day; what tells
-- hours or less differs in each request, and no cache keeps a prompt with it.

local bounds = require "ebb.macros.bounds"
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

macros[#macros + 1] = {
  name = "time_UTC",
  summary = "the time in a zone, by its hours east of UTC, as 10:30 PM; {{time_UTC+2}} is read, too",
  parameters = { "hours" },
  stability = "volatile",
  example = "{{time_UTC+2}}",
  run = function(call, hours)
    local offset, ms = math.tointeger(tonumber(hours)), call.environment:instant()
    if not offset or math.abs(offset) > bounds.OFFSET_MAX then return nil, "not_offset", hours end
    if not ms then return nil, "no_clock" end
    return calendar.format(calendar.date(ms, offset * 60), "h:mm A")
  end,
}

--- An instant as a template writes it: ISO 8601, or milliseconds since 1970.
local function instant_of(text)
  local ms = math.tointeger(tonumber(text))
  return ms and math.abs(ms) <= calendar.MS_MAX and ms or calendar.parse(text)
end

macros[#macros + 1] = {
  name = "timeDiff",
  summary = "how far the first instant is from the second, as 'in 3 days' or '3 days ago'",
  parameters = { "instant", "instant2" },
  stability = "stable",
  example = "{{timeDiff::2025-11-10::2025-11-07}}",
  run = function(_, first, second)
    local a, b = instant_of(first), instant_of(second)
    if not a or not b then return nil, "not_instant", a and second or first end
    return (a < b and "%s ago" or "in %s"):format(calendar.duration(a - b))
  end,
}

macros[#macros + 1] = {
  name = "idle_duration",
  summary = "the time since the user's last message, as 'an hour'; 'just now' where none tells its time",
  stability = "volatile",
  aliases = { "idleDuration" },
  run = function(call)
    local history, now = call.environment.history, call.environment.now
    if not now then return nil, "no_clock" end
    local last = math.tointeger(tonumber(history and history "instant" or nil))
    return last and calendar.duration(now - last) or "just now"
  end,
}

return macros

--- The date and time of an instant, by arithmetic: no time zone and no locale of
-- the machine comes in, so that equal inputs give equal texts everywhere.

local lpeg = require "ebb.support.lpeg"

local calendar = {}

--- The instants that JavaScript's dates know: 100,000,000 days around 1970. Years
--- stay within six digits, and no sum here overflows.
calendar.MS_MAX = 8640000000000000

local DAY_MS = 86400000

local MONTHS = {
  "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
  "December",
}
local WEEKDAYS = { "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday" }

---@class ebb.MacroDate
---@field year integer
---@field month integer     1-12
---@field day integer
---@field weekday integer   0 = Sunday
---@field hour integer
---@field minute integer
---@field second integer
---@field ms integer

--- Year, month, day of a day counted from 1970-01-01. Years are taken to begin in
--- March, so that the leap day is the last; 400 of them are always 146097 days.
local function civil(days)
  days = days + 719468   -- from 0000-03-01
  local era, of_era = days // 146097, days % 146097
  local year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
  local of_year = of_era - (365 * year + year // 4 - year // 100)
  local month = (5 * of_year + 2) // 153   -- 0 = March
  local day = of_year - (153 * month + 2) // 5 + 1
  local of_january = month >= 10 and 1 or 0
  return year + era * 400 + of_january, month < 10 and month + 3 or month - 9, day
end

--- The day count of a date: the inverse of `civil`.
local function days_of(year, month, day)
  if month <= 2 then year = year - 1 end
  local era, of_era = year // 400, year % 400
  local of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
  return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
end

---@param ms integer        since 1970, UTC
---@param zone integer      minutes east of UTC
---@return ebb.MacroDate
function calendar.date(ms, zone)
  ms = ms + zone * 60000
  local days, rest = ms // DAY_MS, ms % DAY_MS
  local year, month, day = civil(days)
  return {
    year = year, month = month, day = day, weekday = (days + 4) % 7,
    hour = rest // 3600000, minute = rest // 60000 % 60, second = rest // 1000 % 60, ms = rest % 1000,
  }
end

--- "Z", "+08:00" or nothing, which is UTC here, as minutes.
local function zone_of(text)
  if text == "" or text == "Z" then return 0 end
  local sign, hours, minutes = text:match "^([+-])(%d%d):?(%d%d)$"
  if not sign then return nil end
  local total = tonumber(hours) * 60 + tonumber(minutes)
  return sign == "-" and -total or total
end

--- "T22:30", "T22:30:05.123Z" ... as ms of the day, UTC; the zone may lead beyond it.
local function time_of(text)
  if text == "" then return 0 end
  local hour, minute, rest = text:match "^[T ](%d%d):(%d%d)(.*)$"
  if not hour then return nil end
  local second, fraction, zone = rest:match "^:(%d%d)%.?(%d*)(.*)$"
  if not second then second, fraction, zone = "00", "", rest end
  local offset = zone_of(zone)
  if not offset or hour > "23" or minute > "59" or second > "59" then return nil end
  local seconds = tonumber(hour) * 3600 + (tonumber(minute) - offset) * 60 + tonumber(second)
  return seconds * 1000 + tonumber((fraction .. "000"):sub(1, 3))
end

--- Reads ISO 8601: "2025-11-07", "2025-11-07T22:30:05.123Z", "... +08:00".
---@param text string
---@return integer? ms
function calendar.parse(text)
  local year, month, day, rest = text:match "^(%d%d%d%d)-(%d%d)-(%d%d)(.*)$"
  local of_day = year and time_of(rest)
  if not of_day or month < "01" or month > "12" then return nil end
  local days = days_of(tonumber(year), tonumber(month), tonumber(day))
  local _, _, real_day = civil(days)
  if real_day ~= tonumber(day) then return nil end   -- no 31st of June
  return days * DAY_MS + of_day
end

---@param date ebb.MacroDate
---@return integer          1-12
function calendar.hour12(date)
  return (date.hour + 11) % 12 + 1
end

local function padded(width, value)
  return function(date) return ("%0" .. width .. "d"):format(value(date)) end
end

--- The letters of a pattern, the longer ones before those they begin with.
local LETTERS = {
  { "YYYY", padded(4, function(date) return date.year end) },
  { "YY", padded(2, function(date) return date.year % 100 end) },
  { "MMMM", function(date) return MONTHS[date.month] end },
  { "MMM", function(date) return MONTHS[date.month]:sub(1, 3) end },
  { "MM", padded(2, function(date) return date.month end) },
  { "M", function(date) return tostring(date.month) end },
  { "dddd", function(date) return WEEKDAYS[date.weekday + 1] end },
  { "ddd", function(date) return WEEKDAYS[date.weekday + 1]:sub(1, 3) end },
  { "DD", padded(2, function(date) return date.day end) },
  { "D", function(date) return tostring(date.day) end },
  { "HH", padded(2, function(date) return date.hour end) },
  { "H", function(date) return tostring(date.hour) end },
  { "hh", padded(2, calendar.hour12) },
  { "h", function(date) return tostring(calendar.hour12(date)) end },
  { "mm", padded(2, function(date) return date.minute end) },
  { "m", function(date) return tostring(date.minute) end },
  { "SSS", padded(3, function(date) return date.ms end) },
  { "ss", padded(2, function(date) return date.second end) },
  { "s", function(date) return tostring(date.second) end },
  { "A", function(date) return date.hour >= 12 and "PM" or "AM" end },
  { "a", function(date) return date.hour >= 12 and "pm" or "am" end },
}

local piece = lpeg.P(false)
for _, letter in ipairs(LETTERS) do
  piece = piece + lpeg.P(letter[1]) / function() return letter[2] end
end
local quoted = "[" * lpeg.C((1 - lpeg.P "]") ^ 0) * "]"
local PATTERN = lpeg.compiled((piece + quoted + lpeg.C(1)) * lpeg.Cp())

--- A date by a pattern such as "YYYY-MM-DD HH:mm"; [brackets] enclose text.
---@param date ebb.MacroDate
---@param pattern string
---@return string
function calendar.format(date, pattern)
  local parts, position = {}, 1
  while position <= #pattern do
    local part
    part, position = PATTERN:match(pattern, position)
    parts[#parts + 1] = type(part) == "function" and part(date) or part
  end
  return table.concat(parts)
end

--- A unit of durations: how many of a smaller one it has, below how many it counts, its name and "one of it".
local UNITS = {
  { 60, 45, "minute", "a minute" }, { 60, 22, "hour", "an hour" }, { 24, 26, "day", "a day" },
  { 30.436875, 11, "month", "a month" }, { 12, math.huge, "year", "a year" },
}

--- A duration in words, rounded: "a few seconds", "an hour", "3 days".
---@param ms number            its sign does not count
---@return string
function calendar.duration(ms)
  local amount = math.abs(ms) / 1000
  if math.floor(amount + 0.5) < 45 then return "a few seconds" end
  for _, unit in ipairs(UNITS) do
    amount = amount / unit[1]
    local count = math.floor(amount + 0.5)
    if count <= 1 then return unit[4] end
    if count < unit[2] then return ("%d %ss"):format(count, unit[3]) end
  end
end

return calendar

--- Dates as languages write them: names of months and days, and the order of the parts.

local calendar = require "ebb.macros.calendar"
local tables = require "ebb.support.tables"

local locales = {}

local function words(list)
  local names = {}
  for name in list:gmatch "[^,]+" do
    names[#names + 1] = name
  end
  return names
end

---@class ebb.MacroLocale
---@field form string       {weekday} {day} {month} (its number where there are no names) {year} {time}
---@field months? string[]
---@field weekdays string[] from Sunday on
---@field clock fun(date: ebb.MacroDate): string

local function clock24(date)
  return calendar.format(date, "HH:mm")
end

--- Twelve hours, the half of the day before or after them.
local function clock12(before, after, form)
  return function(date)
    return (form:gsub("%%p", date.hour < 12 and before or after):gsub("%%t", calendar.format(date, "hh:mm")))
  end
end

local CHINESE_DAYS = words "星期日,星期一,星期二,星期三,星期四,星期五,星期六"
local ENGLISH_MONTHS = words "January,February,March,April,May,June,July,August,September,October,November,December"
local ENGLISH_DAYS = words "Sunday,Monday,Tuesday,Wednesday,Thursday,Friday,Saturday"

local LOCALES = {
  ["zh-CN"] = { form = "{year}年{month}月{day}日{weekday} {time}", weekdays = CHINESE_DAYS, clock = clock24 },
  ["zh-TW"] = {
    form = "{year}年{month}月{day}日{weekday} {time}", weekdays = CHINESE_DAYS, clock = clock12("上午", "下午", "%p%t"),
  },
  ["ja-JP"] = {
    form = "{year}年{month}月{day}日{weekday} {time}",
    weekdays = words "日曜日,月曜日,火曜日,水曜日,木曜日,金曜日,土曜日",
    clock = clock24,
  },
  ["ko-KR"] = {
    form = "{year}년 {month}월 {day}일 {weekday} {time}",
    weekdays = words "일요일,월요일,화요일,수요일,목요일,금요일,토요일",
    clock = clock12("오전", "오후", "%p %t"),
  },
  ["en-US"] = {
    form = "{weekday}, {month} {day}, {year} at {time}",
    months = ENGLISH_MONTHS, weekdays = ENGLISH_DAYS, clock = clock12("AM", "PM", "%t %p"),
  },
  ["en-GB"] = {
    form = "{weekday}, {day} {month} {year} at {time}",
    months = ENGLISH_MONTHS, weekdays = ENGLISH_DAYS, clock = clock24,
  },
  ["de-DE"] = {
    form = "{weekday}, {day}. {month} {year} um {time}",
    months = words "Januar,Februar,März,April,Mai,Juni,Juli,August,September,Oktober,November,Dezember",
    weekdays = words "Sonntag,Montag,Dienstag,Mittwoch,Donnerstag,Freitag,Samstag",
    clock = clock24,
  },
  ["fr-FR"] = {
    form = "{weekday} {day} {month} {year} à {time}",
    months = words "janvier,février,mars,avril,mai,juin,juillet,août,septembre,octobre,novembre,décembre",
    weekdays = words "dimanche,lundi,mardi,mercredi,jeudi,vendredi,samedi",
    clock = clock24,
  },
  ["ru-RU"] = {
    form = "{weekday}, {day} {month} {year} г. в {time}",
    months = words "января,февраля,марта,апреля,мая,июня,июля,августа,сентября,октября,ноября,декабря",
    weekdays = words "воскресенье,понедельник,вторник,среда,четверг,пятница,суббота",
    clock = clock24,
  },
  ["es-ES"] = {
    form = "{weekday}, {day} de {month} de {year}, {time}",
    months = words "enero,febrero,marzo,abril,mayo,junio,julio,agosto,septiembre,octubre,noviembre,diciembre",
    weekdays = words "domingo,lunes,martes,miércoles,jueves,viernes,sábado",
    clock = clock24,
  },
  ["it-IT"] = {
    form = "{weekday} {day} {month} {year} alle ore {time}",
    months = words "gennaio,febbraio,marzo,aprile,maggio,giugno,luglio,agosto,settembre,ottobre,novembre,dicembre",
    weekdays = words "domenica,lunedì,martedì,mercoledì,giovedì,venerdì,sabato",
    clock = clock24,
  },
  ["pt-BR"] = {
    form = "{weekday}, {day} de {month} de {year} às {time}",
    months = words "janeiro,fevereiro,março,abril,maio,junho,julho,agosto,setembro,outubro,novembro,dezembro",
    weekdays = words "domingo,segunda-feira,terça-feira,quarta-feira,quinta-feira,sexta-feira,sábado",
    clock = clock24,
  },
  ["vi-VN"] = {
    form = "lúc {time} {weekday}, {day} tháng {month}, {year}",
    weekdays = words "Chủ Nhật,Thứ Hai,Thứ Ba,Thứ Tư,Thứ Năm,Thứ Sáu,Thứ Bảy",
    clock = clock24,
  },
}

--- Other words for a language; its first two letters are one, too.
local ALIASES = {
  zh = "zh-CN", cn = "zh-CN", chinese = "zh-CN", ["zh-hans"] = "zh-CN",
  tw = "zh-TW", ["zh-hant"] = "zh-TW", ["zh-hk"] = "zh-TW",
  ja = "ja-JP", jp = "ja-JP", japanese = "ja-JP", ko = "ko-KR", kr = "ko-KR", korean = "ko-KR",
  en = "en-US", us = "en-US", english = "en-US", gb = "en-GB", uk = "en-GB", british = "en-GB",
  de = "de-DE", german = "de-DE", fr = "fr-FR", french = "fr-FR", ru = "ru-RU", russian = "ru-RU",
  es = "es-ES", spanish = "es-ES", it = "it-IT", italian = "it-IT",
  pt = "pt-BR", br = "pt-BR", portuguese = "pt-BR", vi = "vi-VN", vn = "vi-VN", vietnamese = "vi-VN",
}

for name in pairs(LOCALES) do
  ALIASES[name:lower()] = name
end

---@param language string     "fr", "fr-FR", "french"
---@return string? locale
function locales.find(language)
  local word = language:lower():gsub("_", "-")
  return ALIASES[word] or ALIASES[word:match "^(%a+)%-"]
end

--- The names of the locales, for messages.
---@return string
function locales.names()
  return table.concat(tables.keys(LOCALES), ", ")
end

---@param name string         of a locale
---@return fun(date: ebb.MacroDate): string
function locales.datetime(name)
  local locale = LOCALES[name]
  return function(date)
    local parts = {
      year = date.year, day = date.day, weekday = locale.weekdays[date.weekday + 1],
      month = locale.months and locale.months[date.month] or date.month, time = locale.clock(date),
    }
    return (locale.form:gsub("{(%l+)}", parts))
  end
end

---@param name string
---@return fun(date: ebb.MacroDate): string
function locales.weekday(name)
  return function(date) return LOCALES[name].weekdays[date.weekday + 1] end
end

-- ---- The forms that have macros of their own ----

function locales.chinese_date(date)
  return ("%d年%d月%d日"):format(date.year, date.month, date.day)
end

local JAPANESE_DAYS = words "日,月,火,水,木,金,土"
local KOREAN_DAYS = words "일,월,화,수,목,금,토"

function locales.japanese_date(date)
  return ("%d年%d月%d日（%s）"):format(date.year, date.month, date.day, JAPANESE_DAYS[date.weekday + 1])
end

function locales.japanese_datetime(date)
  local half = date.hour < 12 and "午前" or "午後"
  return ("%s %s%d時%02d分"):format(locales.japanese_date(date), half, calendar.hour12(date), date.minute)
end

function locales.korean_date(date)
  return ("%d년 %d월 %d일 (%s)"):format(date.year, date.month, date.day, KOREAN_DAYS[date.weekday + 1])
end

return locales

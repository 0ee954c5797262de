--- Checks the result of each macro: at least one case for every macro and alias that there is.
--
-- The clock is at Friday, 2025-11-07 22:30:05.678 UTC.

dofile "tests/lua/helper.lua"
local macros = require "ebb.macros"

local NOW = 1762554605678

local VALUES = {
  user = "Ann", char = "Bo", persona = "a \u{E9}lan", description = "kind", personality = "calm", scenario = "a ship",
  mes_examples = "<hi>", group = "Bo, Cy", model = "gpt-4o", model_id = "openai:gpt-4o", model_name = "GPT-4o",
  profile_id = "p1", profile_name = "Mine", provider = "openai", agent_version = "1.2",
  creator_notes = "slow reader", char_prompt = "Be {{char}}.", char_instruction = "Stay {{char}}.",
  input = function() return "typed" end, tools = "- clock", tool_usage = "clock()", tool_context = "slow",
}

local HISTORY = { last = "the last", user = "asked", assistant = "answered", id = "7", instant = NOW - 5 * 3600000 }

local function environment()
  return macros.environment {
    values = VALUES,
    variables = {
      ["local"] = { n = 4, word = "w", list = { 1, 2 }, yes = true, half = 1.5, huge = math.maxinteger },
      global = { g = 7 },
    },
    now = NOW, seed = 1, session_id = "session-1", outlets = { world = "lore" },
    history = function(kind) return HISTORY[kind] end,
  }
end

local CASES = {
  -- text                                            expected
  { "{{outlet::world}}", "lore" }, { "{{outlet:: world }}", "lore" }, { "{{outlet::none}}", "" },
  { "{{user}}", "Ann" }, { "{{ user }}", "Ann" }, { "{{char}}", "Bo" }, { "{{agent}}", "Bo" },
  { "{{persona}}", "a \u{E9}lan" }, { "{{description}}", "kind" }, { "{{personality}}", "calm" },
  { "{{scenario}}", "a ship" }, { "{{mesExamples}}", "<hi>" }, { "{{group}}", "Bo, Cy" },
  { "{{model}}", "gpt-4o" }, { "{{modelId}}", "openai:gpt-4o" }, { "{{modelName}}", "GPT-4o" },
  { "{{profileId}}", "p1" }, { "{{profileName}}", "Mine" }, { "{{provider}}", "openai" },
  { "{{agentVersion}}", "1.2" }, { "{{input}}", "typed" },
  { "{{tools}}", "- clock" }, { "{{tool_usage}}", "clock()" }, { "{{tool_context}}", "slow" },
  { "{{lastMessage}}", "the last" }, { "{{lastUserMessage}}", "asked" }, { "{{lastCharMessage}}", "answered" },

  { "{{lastMessageId}}", "7" }, { "{{idle_duration}} {{idleDuration}}", "5 hours 5 hours" },
  { "{{mesExamplesRaw}}", "<hi>" }, { "{{creatorNotes}} {{charCreatorNotes}}", "slow reader slow reader" },
  { "{{charPrompt}} {{charInstruction}} {{charJailbreak}}", "Be Bo. Stay Bo. Stay Bo." },
  { "{{charVersion}} {{char_version}}", "1.2 1.2" },

  { "{{setvar::a::b}}{{getvar::a}}", "b" }, { "{{getvar::n}}", "4" }, { "{{getvar::missing}}", "" },
  { "{{getvar::list}} {{getvar::yes}} {{getvar::half}}", "[1,2] true 1.5" }, { "{{getvar n}}", "4" },
  { "{{setvar::a::007}}{{getvar::a}}", "7" }, { "{{setvar::a::-1.50}}{{getvar::a}}", "-1.5" },
  { "{{setvar::a::.5}}{{getvar::a}}", "0.5" }, { "{{setvar::a::1e3}}{{getvar::a}}", "1e3" },
  { "{{setvar::a::0x10}}{{getvar::a}}", "0x10" }, { "{{setvar::a::}}{{getvar::a}}", "" },
  { "{{setvar::a::0123456789012345}}{{getvar::a}}", "0123456789012345" },
  { "{{setvar::a::00123456789012}}{{getvar::a}}", "123456789012" },
  { "{{incvar::n}}{{incvar::n}}{{getvar::n}}", "6" }, { "{{incvar::new}}{{getvar::new}}", "1" },
  { "{{incvar::half}}{{getvar::half}}", "2.5" }, { "{{decvar::n}}{{getvar::n}}", "3" },
  { "{{addvar::n::10}}{{getvar::n}}", "14" }, { "{{addvar::word::x}}{{getvar::word}}", "wx" },
  { "{{addvar::word::5}}{{getvar::word}}", "w5" }, { "{{addvar::n::x}}{{getvar::n}}", "4x" },
  { "{{addvar::new::5}}{{getvar::new}}", "5" },
  { "{{incvar::huge}}{{getvar::huge}}", "9.2233720368548e+18" },
  { "{{hasvar::n}} {{hasvar::m}} {{varexists::n}}", "true false true" },
  { "{{deletevar::n}}{{hasvar::n}}", "false" }, { "{{flushvar::n}}{{getvar::n}}", "" },
  { "{{setglobalvar::a::b}}{{getglobalvar::a}}{{getvar::a}}", "b" }, { "{{getglobalvar::g}}", "7" },
  { "{{incglobalvar::g}}{{getglobalvar::g}}", "8" }, { "{{decglobalvar::g}}{{getglobalvar::g}}", "6" },
  { "{{addglobalvar::g::3}}{{getglobalvar::g}}", "10" }, { "{{hasglobalvar::g}}", "true" },
  { "{{globalvarexists::n}}", "false" }, { "{{deleteglobalvar::g}}{{hasglobalvar::g}}", "false" },
  { "{{flushglobalvar::g}}{{hasglobalvar::g}}", "false" },

  { "{{time}}", "10:30 PM" }, { "{{time24}}", "22:30" }, { "{{date}}", "November 7, 2025" },
  { "{{date_ymd}}", "2025-11-07" }, { "{{isodate}}", "2025-11-07" }, { "{{datetime}}", "2025-11-07 22:30:05" },
  { "{{isotime}}", "2025-11-07T22:30:05.678Z" }, { "{{timestamp}}", "1762554605678" }, { "{{weekday}}", "Friday" },
  { "{{time_UTC+2}} {{Time_utc-5}} {{ time_UTC+0 }} {{time_UTC::1}}", "12:30 AM 5:30 PM 10:30 PM 11:30 PM" },
  { "{{timeDiff::2025-11-10::2025-11-07}}", "in 3 days" }, { "{{timeDiff::0::3600000}}", "an hour ago" },
  { "{{timeDiff::2025-11-07T00:00:44Z::2025-11-07}}", "in a few seconds" },
  { "{{timeDiff::2025-11-07::2024-01-01}}", "in 2 years" }, { "{{timeDiff::2025-03-01::2025-01-01}}", "in 2 months" },
  { "{{comment: {{user}} }}{{comment}}", "" }, { "{{hidden_key: dragon}}", "" },
  { "{{date_cn}}", "2025年11月7日" }, { "{{datetime_cn}}", "2025年11月7日星期五 22:30" }, { "{{weekday_cn}}", "星期五" },
  { "{{date_jp}}", "2025年11月7日（金）" }, { "{{datetime_jp}}", "2025年11月7日（金） 午後10時30分" },
  { "{{date_ko}}", "2025년 11월 7일 (금)" },
  { "{{datetime_format::YYYY/MM/DD HH:mm:ss}}", "2025/11/07 22:30:05" },
  { "{{datetime_format}}", "2025-11-07 22:30:05" },
  { "{{datetime_format::YY M D MMM MMMM ddd dddd H h hh m s A a SSS}}",
    "25 11 7 Nov November Fri Friday 22 10 10 30 5 PM pm 678" },
  { "{{datetime_format::[Day] D [of] YYYY}}", "Day 7 of 2025" }, { "{{datetime_format::[open D 日}}", "[open 7 日" },
  { "{{datetimeformat DD.MM.}}", "07.11." },
  { "{{datetime_locale}}", "2025年11月7日星期五 22:30" }, { "{{datetime_locale::tw}}", "2025年11月7日星期五 下午10:30" },
  { "{{datetime_locale::ja}}", "2025年11月7日金曜日 22:30" },
  { "{{datetime_locale::ko}}", "2025년 11월 7일 금요일 오후 10:30" },
  { "{{datetime_locale::en}}", "Friday, November 7, 2025 at 10:30 PM" },
  { "{{datetime_locale::en_GB}}", "Friday, 7 November 2025 at 22:30" },
  { "{{datetime_locale::de-AT}}", "Freitag, 7. November 2025 um 22:30" },
  { "{{datetime_locale::French}}", "vendredi 7 novembre 2025 à 22:30" },
  { "{{datetime_locale::ru}}", "пятница, 7 ноября 2025 г. в 22:30" },
  { "{{datetime_locale::es}}", "viernes, 7 de noviembre de 2025, 22:30" },
  { "{{datetime_locale::it}}", "venerdì 7 novembre 2025 alle ore 22:30" },
  { "{{datetime_locale::pt}}", "sexta-feira, 7 de novembro de 2025 às 22:30" },
  { "{{datetime_locale::vi}}", "lúc 22:30 Thứ Sáu, 7 tháng 11, 2025" },

  { "{{random::only}}", "only" }, { "{{random::x::x::x}}", "x" }, { "{{random:x, x ,x}}", "x" },
  { "{{randomInt::5::6}}", "^[56]$", pattern = true }, { "{{randomInt::-3::-2}}", "^%-[23]$", pattern = true },
  { "{{pick::A::B::C::D::E}}", "D" }, { "{{pick A,B,C,D,E}}", "D" },
  { "{{roll::1d1}}", "1" }, { "{{roll::3d1}}", "3 (1, 1, 1)" }, { "{{roll d1}}", "1" }, { "{{roll:1}}", "1" },
  { "{{roll::2d1+3}}", "5 (1, 1; +3)" }, { "{{roll::1d1-2}}", "-1" }, { "{{roll::1D6}}", "^[1-6]$", pattern = true },

  { "a{{newline}}b", "a\nb" }, { "{{newline::3}}", "\n\n\n" }, { "a{{space}}b{{space::2}}c", "a b  c" },
  { "a{{noop}}b", "ab" }, { "a{{// {{incvar::n}} :: x }}b{{getvar::n}}", "ab4" },
  { "a \n\t{{trim}}\r\n \u{3000}b", "ab" }, { "{{trim}} a {{trim}}", "a" }, { "a {{trim}}{{trim}} b", "ab" },
  { "{{trim}} a{{noop}} b", "a b" }, { "日 \u{3000} {{trim}}b", "日b" },
  { "a {{newline}}{{trim}}{{newline}} b", "ab" }, { "[{{trim::{{space::2}}x{{space}}}}]", "[x]" },
  { "{{repeat::*::5}}", "*****" }, { "{{repeat::ab::0}}", "" }, { "{{repeat::{{newline}}::2}}", "\n\n" },
  { "{{replace::a.b.c::.::, }}", "a,b,c" }, { "{{replace::abc::::x}}", "abc" }, { "{{replace::aaa::aa::b}}", "ba" },
  { "{{replace::x::x::%1}}", "%1" },
  { "{{truncate::h\u{E9}llo::2}}", "h\u{E9}" }, { "{{truncate::ab::9}}", "ab" }, { "{{truncate::ab::0}}", "" },
  { "{{length::h\u{E9}\u{1F600}}}", "3" }, { "{{length::}}", "0" },
  { "{{upper::stra\u{DF}e \u{E4}\u{F6} \u{F1} д\u{451} \u{3B1}\u{3C2} \u{FF}}}",
    "STRA\u{DF}E \u{C4}\u{D6} \u{D1} Д\u{401} \u{391}\u{3A3} \u{178}" },
  { "{{uppercase::a}}{{lowercase::B}}", "Ab" },
  { "{{lower::ÀÉ ŁŻ ДЖ ΆΩ ԱԲ ẶỆ Ａ Ÿ İ}}", "àé łż дж άω աբ ặệ ａ ÿ İ" },
  { "{{capitalize::élan vital}}", "Élan vital" }, { "{{capitalize::ab}}", "Ab" },
  { "{{reverse::abc}}", "cba" }, { "{{reverse::a日本b}}", "b本日a" }, { "{{reverse::xe\u{301}y}}", "ye\u{301}x" },
  { "{{reverse::1\u{1F44D}\u{1F3FD}2}}", "2\u{1F44D}\u{1F3FD}1" },
  { "{{reverse::1\u{1F469}\u{200D}\u{1F680}2}}", "2\u{1F469}\u{200D}\u{1F680}1" },
  { "{{reverse::\u{301}a}}", "a\u{301}" },
}

--- Errors: the text with its error in Chinese, as templates of AIO Hub know them, and the English report.
local ERRORS = {
  { "{{getvar}}", "[错误: getvar 需要1个参数]", "getvar needs 1 argument: getvar::name" },
  { "{{random}}", "[错误: random 需要至少1个参数]", "random needs at least 1 argument: random::choice..." },
  { "{{pick}}", "[错误: pick 需要至少1个参数]", "pick needs at least 1 argument: pick::choice..." },
  { "{{incvar::word}}", "[错误: 变量 word 不是数字]", "variable 'word' does not hold a number" },
  { "{{repeat::x::1001}}", "[错误: 重复次数不能超过1000]", "it repeats at most 1000 times" },
  { "{{repeat::x::-1}}", "[错误: 重复次数必须是非负整数]", "the number of repetitions must be a whole number from 0 on" },
  { "{{newline::x}}", "[错误: 重复次数必须是非负整数]", "the number of repetitions must be a whole number from 0 on" },
  { "{{randomInt::5::5}}", "[错误: 最小值必须小于最大值]", "the smallest value must be below the largest" },
  { "{{randomInt::5x::6}}", "[错误: 参数必须是有效的整数]", "its arguments must be whole numbers" },
  { "{{randomInt::0::99999999999999999999}}", "[错误: 参数必须是有效的整数]", "its arguments must be whole numbers" },
  { "{{roll::0d6}}", "[错误: 骰子数量必须在 1-100 之间]", "the number of dice must be within 1-100" },
  { "{{roll::101d6}}", "[错误: 骰子数量必须在 1-100 之间]", "the number of dice must be within 1-100" },
  { "{{roll::1d1001}}", "[错误: 骰子面数必须在 1-1000 之间]", "the number of sides must be within 1-1000" },
  { "{{roll::abc}}", "[错误: 无效的骰子格式，应为 NdM]", "not dice: expected NdM, such as 2d6" },
  { "{{roll::2d6+}}", "[错误: 无效的骰子格式，应为 NdM]", "not dice: expected NdM, such as 2d6" },
  { "{{roll::1d6+9999999}}", "[错误: 无效的骰子格式，应为 NdM]", "not dice: expected NdM, such as 2d6" },
  { "{{time_UTC+15}}", "[错误: '+15' 不是 -14 到 14 之间的小时数]", "'+15' is no number of hours from -14 to 14" },
  { "{{timeDiff::soon::0}}", "[错误: 'soon' 不是有效的日期，例如 2025-11-07]",
    "'soon' is no date such as 2025-11-07 or 2025-11-07T22:30:05Z" },
  { "{{truncate::a::-1}}", "[错误: '-1' 不是非负整数]", "'-1' is not a count (0, 1, 2 ...)" },
}

describe("macro", function()
  for _, case in ipairs(CASES) do
    it(case[1], function()
      local text, report = macros.expand(case[1], environment())

      if case.pattern then assert.truthy(text:find(case[2]), text) else assert.equal(case[2], text) end
      assert.same({}, report.errors)
      assert.same({}, report.unknown)
    end)
  end

  for _, case in ipairs(ERRORS) do
    it("refuses " .. case[1], function()
      local wanting = environment()
      wanting.error_text = "zh"
      local text = macros.expand(case[1], wanting)
      local kept, report = macros.expand(case[1], environment())

      assert.equal(case[2], text)
      assert.equal(case[1], kept)
      assert.equal(case[3], report.errors[1].message)
      assert.equal(1, #report.errors)
    end)
  end

  it("has a case, under each of its names", function()
    local tried = {}
    for _, case in ipairs(CASES) do
      for name in case[1]:gmatch "{{%s*([%w_/]+)" do
        tried[name] = true
      end
    end
    for _, listed in ipairs(macros.list()) do
      assert(tried[listed.name], listed.name .. " has no case")
      for _, alias in ipairs(listed.aliases or {}) do
        assert(tried[alias], alias .. " has no case")
      end
    end
  end)
end)

describe("values that are not given", function()
  local empty = macros.environment()

  it("are empty, but those who speak have names", function()
    for _, name in ipairs { "persona", "modelName", "provider", "input", "lastMessage", "agentVersion" } do
      assert.equal("", (macros.expand("{{" .. name .. "}}", empty)))
    end
    assert.equal("User Assistant Assistant", (macros.expand("{{user}} {{char}} {{agent}}", empty)))
  end)

  it("are taken from what says the same", function()
    local some = macros.environment { values = { agent = "Bo", model_id = "m", profile_id = "p" } }

    assert.equal("Bo Bo m m p", (macros.expand("{{char}} {{group}} {{model}} {{modelName}} {{profileName}}", some)))
  end)

  it("leave dates without a clock an error", function()
    local text, report = macros.expand("{{time}} {{isotime}} {{timestamp}} {{datetime_locale::fr}}", empty)

    assert.equal("{{time}} {{isotime}} {{timestamp}} {{datetime_locale::fr}}", text)
    assert.equal(4, #report.errors)
    assert.equal("there is no clock here", report.errors[1].message)
  end)
end)

describe("dates", function()
  local function at(fields, text)
    return (macros.expand(text, macros.environment(fields)))
  end

  local cases = {
    { "1970-01-01T00:00:00Z", 0, "1970-01-01 00:00:00 Thursday" },
    { "2000-02-29T23:59:59Z", 0, "2000-02-29 23:59:59 Tuesday" },
    { "1900-03-01", 0, "1900-03-01 00:00:00 Thursday" },
    { "2024-12-31T23:30:00Z", 480, "2025-01-01 07:30:00 Wednesday" },
    { "2024-03-01T00:00:00+08:00", 0, "2024-02-29 16:00:00 Thursday" },
    { "1969-12-31T23:59:59.500Z", -60, "1969-12-31 22:59:59 Wednesday" },
    { "0001-01-01", 0, "0001-01-01 00:00:00 Monday" },
    { "9999-12-31 12:00", 0, "9999-12-31 12:00:00 Friday" },
  }
  for _, case in ipairs(cases) do
    it(case[1] .. " in zone " .. case[2], function()
      local fields = { now = 0, zone = case[2], virtual_time = { virtual_base = case[1], real_base = 0 } }
      assert.equal(case[3], at(fields, "{{datetime}} {{weekday}}"))
    end)
  end

  it("agree with the machine's own for every day of a century", function()
    for days = -20000, 20000, 7 do
      local ms = days * 86400000 + 3723000
      assert.equal(os.date("!%Y-%m-%d %H:%M:%S", ms // 1000), at({ now = ms }, "{{datetime}}"))
    end
  end)

  it("run faster or backwards in a story", function()
    local now = NOW // 1000 * 1000
    local virtual = { virtual_base = "1999-01-01T00:00:00Z", real_base = "2025-11-07T20:30:05Z", scale = 24 }
    assert.equal("1999-01-03 00:00", at({ now = now, virtual_time = virtual }, "{{date_ymd}} {{time24}}"))
    virtual.scale = -24
    assert.equal("1998-12-30 00:00", at({ now = now, virtual_time = virtual }, "{{date_ymd}} {{time24}}"))
    virtual.scale = 1000000
    assert.equal("275760-09-13", at({ now = 8640000000000000, virtual_time = virtual }, "{{date_ymd}}"))
  end)

  it("know both noons", function()
    for hour, expected in pairs { [0] = "12:05 AM", [11] = "11:05 AM", [12] = "12:05 PM", [13] = "1:05 PM" } do
      assert.equal(expected, at({ now = hour * 3600000 + 300000 }, "{{time}}"))
    end
    assert.equal("1970年1月1日（木） 午前12時05分", at({ now = 300000 }, "{{datetime_jp}}"))
  end)
end)

--- Ten conversations of different kinds, written for tests: what digests keep must not depend on one kind of agent.
--
--     kinds.all()   { { name = "shop", messages = { {role = "system", content = ...}, ... } }, ... }
--
-- Each is some tasks, one after the other; replies and calls use what was said just before, some steps ago, and at the
-- beginning. Numbers come from a generator with a fixed seed, so that all runs see the same.

local kinds = {}

local Writer = {}
Writer.__index = Writer

--- Text that hosts add to a system message: rules that have nothing to do with the values.
local RULES = ("Be polite and brief. Use one tool at a time and wait for its result. Do not invent what no tool said. "
  .. "Ask when something is unclear. Hand over to a person when you cannot help. "):rep(4)

local function writer(name, system, seed)
  local self = setmetatable({ name = name, messages = {}, state = seed, calls = 0 }, Writer)
  self:say("system", system .. "\n\n" .. RULES)
  return self
end

--- A number from `low` to `high`.
function Writer:number(low, high)
  self.state = (self.state * 1103515245 + 12345) % 0x80000000
  return low + self.state // 8 % (high - low + 1)
end

function Writer:pick(list) return list[self:number(1, #list)] end

--- Letters and digits, such as `QX4F2`.
function Writer:code(length)
  local letters = {}
  for i = 1, length do
    local at = self:number(1, 32)
    letters[i] = ("ABCDEFGHJKLMNPQRSTUVWXYZ23456789"):sub(at, at)
  end
  return table.concat(letters)
end

function Writer:say(role, text, ...)
  self.messages[#self.messages + 1] = { role = role, content = text:format(...) }
end

function Writer:user(...) self:say("user", ...) end

function Writer:reply(...) self:say("assistant", ...) end

--- A call and its result, both texts.
function Writer:call(name, arguments, result)
  self.calls = self.calls + 1
  local id = ("call_%s_%d"):format(self.name, self.calls)
  self.messages[#self.messages + 1] = { role = "assistant", content = "", tool_calls = {
    { id = id, type = "function", ["function"] = { name = name, arguments = arguments } } } }
  self.messages[#self.messages + 1] = { role = "tool", tool_call_id = id, content = result }
end

--- Ends a task with what it was about; then the task two before is asked for again: `question` as the user says it,
--- `answer` with the facts in it, and a tool that is called with the first fact.
function Writer:look_back(question, answer, tool, facts)
  self.tasks = self.tasks or {}
  table.insert(self.tasks, facts)
  local old = self.tasks[#self.tasks - 2]
  if not old then return end
  self:user(question, #self.tasks - 2)
  if tool then self:call(tool, ('{"of": "%s", "also": "%s"}'):format(old[1], old[2]), '{"ok": true}') end
  self:reply(answer, table.unpack(old))
end

local function rows(count, make)
  local list = {}
  for i = 1, count do list[i] = make(i) end
  return list
end

---- German shop desk ----

local SHOP = [[Du bist der Kundendienst des Versandhauses Nordlicht. Suche den Kunden, bevor du etwas änderst.
Storniert wird nur, was noch nicht versandt ist; Rücksendungen gehen innerhalb von 30 Tagen. Lies vor jeder Änderung
vor, was geschehen soll, und warte auf die Zustimmung. Gutschriften gehen auf das Zahlungsmittel der Bestellung.]]

local WARES = { "Wollmantel", "Regenjacke", "Teekanne", "Leselampe", "Bettwäsche", "Wanderschuhe" }

local function shop_order(w, order)
  local items = rows(w:number(3, 5), function()
    return ('{"artikel_nr": "ART-%d", "bezeichnung": "%s", "preis": %d.%02d, "menge": %d, "farbe": "%s"}'):format(
      w:number(10000, 99999), w:pick(WARES), w:number(12, 240), w:number(0, 99), w:number(1, 3),
      w:pick { "blau", "grün", "anthrazit" })
  end)
  local text = ('{"bestellnummer": "%s", "status": "%s", "bestellt_am": "2026-%02d-%02d", "positionen": [%s], '
    .. '"versand": {"dienst": "DHL", "sendungsnummer": "%d"}}'):format(order, w:pick { "versandt", "offen" },
    w:number(1, 9), w:number(10, 28), table.concat(items, ", "), w:number(10000000, 99999999))
  return text, text:match '"artikel_nr": "(ART%-%d+)"', text:match '"preis": ([%d.]+)',
    text:match '"sendungsnummer": "(%d+)"'
end

local function shop()
  local w = writer("shop", SHOP, 11)
  for _ = 1, 4 do
    local customer = ("K-%d"):format(w:number(100000, 999999))
    local mail = ("%s.%s%d@example.de"):format(w:pick { "anna", "jens", "heike" }, w:pick { "vogt", "lorenz" },
      w:number(10, 99))
    local orders = rows(5, function() return "NL-" .. w:number(2000000, 2999999) end)
    local iban = ("DE%02d%d"):format(w:number(10, 99), w:number(10000000, 99999999))
    w:user("Guten Tag, ich habe eine Frage zu meinen Bestellungen. Meine Adresse ist %s.", mail)
    w:call("kunde_suchen", ('{"email": "%s"}'):format(mail), ('{"kundennummer": "%s", "name": {"vorname": "Heike", '
      .. '"nachname": "Lorenz"}, "anschrift": {"strasse": "Lindenweg %d", "plz": "%d", "ort": "Lübeck"}, "iban": "%s", '
      .. '"bestellungen": ["%s"]}'):format(customer, w:number(1, 90), w:number(20000, 29999), iban,
      table.concat(orders, '", "')))
    w:reply("Danke, ich habe Ihr Konto %s gefunden. Um welche Bestellung geht es?", customer)
    for i = 1, 3 do
      local order = orders[i]
      w:user(i == 1 and "Ich weiß die Nummer nicht, es war ein Mantel." or "Und die nächste Bestellung bitte auch.")
      local text, article, price, parcel = shop_order(w, order)
      w:call("bestellung_lesen", ('{"bestellnummer": "%s"}'):format(order), text)
      w:reply("In der Bestellung %s liegt der Artikel %s zu %s Euro; die Sendung hat die Nummer %s. "
        .. "Soll ich ihn zurücknehmen?", order, article, price, parcel)
      w:user("Ja, bitte, und das Geld auf mein Bankkonto.")
      w:call("ruecksendung_anlegen",
        ('{"kundennummer": "%s", "bestellnummer": "%s", "artikel_nr": "%s", "iban": "%s"}')
        :format(customer, order, article, iban), ('{"rma": "RMA-%s", "status": "angelegt"}'):format(w:code(6)))
      w:reply("Die Rücksendung für %s ist angelegt, %s Euro gehen an %s.", article, price, iban)
    end
    w:user("Was war noch in der allerersten Bestellung?")
    w:call("bestellung_lesen", ('{"bestellnummer": "%s"}'):format(orders[1]), (shop_order(w, orders[1])))
    w:reply("Ich habe %s noch einmal gelesen; alle Angaben gehen an %s.", orders[1], mail)
    w:look_back("Und mein Fall Nummer %d von heute früh?", "Kunde %s, Bestellung %s, Konto %s.", "fall_lesen",
      { customer, orders[2], iban })
  end
  return w
end

---- SQL analyst ----

local SQL = [[You answer questions about a PostgreSQL warehouse. Look at a table's columns before you query it. Never
guess a column. Give the number first, then how you got it. Read only.]]

local function sql_table(head, count, make)
  local lines = { head, ("-"):rep(#head) }
  for _, row in ipairs(rows(count, make)) do lines[#lines + 1] = row end
  return table.concat(lines, "\n") .. ("\n(%d rows)"):format(count)
end

local function sql()
  local w = writer("sql", SQL, 23)
  for round = 1, 5 do
    local name = ({ "fct_orders", "dim_store", "fct_returns", "stg_payments", "dim_customer" })[round]
    local columns = rows(9, function(i)
      return ("%s_%s"):format(w:pick { "net", "gross", "store", "ship", "tax" }, w:pick { "amount", "id", "date",
        "code" })
        .. (i > 4 and i or "")
    end)
    w:user("What were the five best stores by %s in 2026-Q%d?", columns[2], w:number(1, 4))
    w:call("describe_table", ('{"schema": "analytics", "table": "%s"}'):format(name), sql_table(
      "column_name | data_type | is_nullable", 9, function(i) return ("%s | %s | %s"):format(columns[i],
        w:pick { "numeric(12,2)", "integer", "date" }, w:pick { "YES", "NO" }) end))
    local query = ("select %s, sum(%s) from analytics.%s group by 1 order by 2 desc limit 12"):format(columns[1],
      columns[2], name)
    local stores, sums = {}, {}
    local result = sql_table(columns[1] .. " | store_name | sum", 12, function(i)
      stores[i], sums[i] = ("S%04d"):format(w:number(1, 9999)), ("%d.%02d"):format(w:number(10000, 999999),
        w:number(0, 99))
      return ("%s | %s %d | %s"):format(stores[i], w:pick { "Harbour", "Mill", "Station" }, i, sums[i])
    end)
    w:call("run_query", ('{"sql": "%s"}'):format(query), result)
    w:reply("Store %s leads with %s, then %s with %s and %s with %s.", stores[1], sums[1], stores[2], sums[2],
      stores[3],
      sums[3])
    w:user("Show the monthly figures of the third one.")
    w:call("run_query",
      ('{"sql": "select month, sum(%s) from analytics.%s where %s = \'%s\' group by 1", "store": "%s"}')
      :format(columns[2], name, columns[1], stores[3], stores[3]), sql_table("month | sum", 12, function(i)
        return ("2026-%02d | %d.%02d"):format(i, w:number(1000, 9999), w:number(0, 99))
      end))
    w:reply("The months of %s follow %s in analytics.%s.", stores[3], columns[2], name)
    w:user("Save both as views, one for %s as well.", stores[2])
    w:call("create_view", ('{"table": "analytics.%s", "store": "%s", "measure": "%s"}'):format(name, stores[1],
      columns[2]), ('view reporting.v_%s_%s created'):format(name, stores[1]:lower()))
    w:reply("Done: reporting.v_%s_%s; %s had %s.", name, stores[1]:lower(), stores[2], sums[2])
    w:look_back("Compare with question %d.", "There %s led with %s, in reporting.%s.", "explain",
      { stores[1], sums[1], name })
  end
  return w
end

---- Operations with logs ----

local OPERATIONS = [[You are on call for a cluster. Look before you touch; say what you will restart; note each change
in the incident. Namespaces: checkout, search, media.]]

local function operations()
  local w = writer("operations", OPERATIONS, 37)
  for _ = 1, 4 do
    local incident, space = "INC-" .. w:number(10000, 99999), w:pick { "checkout", "search", "media" }
    w:user("Alert %s: error rate in %s above 4 %%. Please look.", incident, space)
    local pods = rows(6, function() return ("%s-api-%s-%s"):format(space, w:code(6):lower(), w:code(5):lower()) end)
    w:call("kubectl", ('{"command": "get pods", "namespace": "%s"}'):format(space), "NAME READY STATUS RESTARTS IP\n"
      .. table.concat(rows(6, function(i) return ("%s 1/1 %s %d 10.4.%d.%d"):format(pods[i],
        i == 2 and "CrashLoopBackOff" or "Running", w:number(0, 9), w:number(0, 255), w:number(2, 250)) end), "\n"))
    local trace, address = w:code(12):lower(), ("10.8.%d.%d:5432"):format(w:number(0, 255), w:number(2, 250))
    local logs = table.concat(rows(14, function(i)
      local at = ("2026-03-%02dT%02d:%02d:%02d.%03dZ"):format(w:number(10, 28), w:number(10, 23), w:number(10, 59),
        w:number(10, 59), w:number(100, 999))
      if i % 5 == 0 then return ("%s ERROR trace=%s dial tcp %s: connection refused"):format(at, trace, address) end
      return ("%s INFO request id=%s path=/v2/%s status=200 took=%dms"):format(at, w:code(8), space, w:number(3, 400))
    end), "\n")
    w:call("kubectl", ('{"command": "logs --tail=14", "pod": "%s"}'):format(pods[2]), logs)
    w:reply("%s cannot reach %s (trace %s).", pods[2], address, trace)
    w:user("Is that the replica? Check the settings.")
    local path, version = ("/etc/%s/db-%d.yaml"):format(space, w:number(1, 20)), ("v%d.%d.%d"):format(w:number(1, 5),
      w:number(10, 30), w:number(10, 99))
    w:call("read_file", ('{"path": "%s"}'):format(path),
      ("pool:\n  size: %d\n  host: %s\nimage: registry/%s:%s\n"):format(
      w:number(10, 60), address, space, version) .. table.concat(rows(8, function(i)
        return ("feature_%d: %s"):format(i, w:pick { "on", "off" }) end), "\n"))
    w:reply("%s points to %s with image %s.", path, address, version)
    w:user("Roll it back, restart the pod, and write it down.")
    w:call("kubectl", ('{"command": "delete pod", "pod": "%s", "namespace": "%s"}'):format(pods[2], space), "deleted")
    w:call("update_incident", ('{"incident": "%s", "pod": "%s", "file": "%s", "cause": "%s"}'):format(incident,
      pods[2],
      path, address), '{"ok": true}')
    w:reply("%s is noted: %s restarted, %s rolled back from %s.", incident, pods[2], path, version)
    w:look_back("Link it to alert %d.", "Linked to %s: %s could not reach %s.", "link_incident",
      { incident, pods[2], address })
  end
  return w
end

---- Travel, Japanese ----

local TRAVEL = [[あなたは旅行会社の案内係です。予約の前に必ず内容を読み上げ、お客様の同意を得てください。料金は円で示します。]]

local function travel()
  local w = writer("travel", TRAVEL, 41)
  for _ = 1, 5 do
    local member, booking = "TB-" .. w:number(10000, 99999), w:code(6)
    w:user("こんにちは。会員番号は%sです。来月の京都旅行を予約したいです。", member)
    w:call("get_member", ('{"member_id": "%s"}'):format(member), ('{"member_id": "%s", "氏名": "田中 %s", '
      .. '"電話": "090-%d-%d", "ポイント": %d}'):format(member, w:pick { "恵子", "一郎" }, w:number(1000,
        9999),
      w:number(1000, 9999), w:number(1000, 90000)))
    local codes, prices, names = {}, {}, {}
    local found = rows(6, function(i)
      codes[i], prices[i] = "HTL" .. w:number(1000, 9999), tostring(w:number(8000, 48000))
      names[i] = w:pick { "鴨川", "東山", "嵐山" } .. w:pick { "旅館", "ホテル" } .. i
      return ('{"hotel_code": "%s", "名称": "%s", "料金": %s, "評価": %d.%d}'):format(codes[i], names[i],
        prices[i],
        w:number(3, 4), w:number(0, 9))
    end)
    local date = ("2026-%02d-%02d"):format(w:number(1, 12), w:number(10, 28))
    w:user("%sから二泊、朝食付きでお願いします。", date)
    w:call("search_hotels", ('{"city": "京都", "check_in": "%s", "nights": 2}'):format(date),
      "[" .. table.concat(found, ", ") .. "]")
    w:reply("次の宿があります。\n1. %s (%s) %s 円\n2. %s (%s) %s 円", names[1], codes[1], prices[1],
      names[4], codes[4],
      prices[4])
    w:user("二番目は静かですか。")
    w:call("hotel_details", ('{"hotel_code": "%s"}'):format(codes[4]), ('{"hotel_code": "%s", "部屋": [{"room_id": '
      .. '"R-%d", "広さ": %d}, {"room_id": "R-%d", "広さ": %d}], "説明": "川沿いの静かな宿です。駅から徒歩8分。"}'):format(
      codes[4], w:number(100, 999), w:number(18, 60), w:number(100, 999), w:number(18, 60)))
    w:reply("はい、川沿いの静かな宿です。%s で予約しますか。", codes[4])
    w:user("やはり一番目にします。お願いします。")
    w:call("book_hotel", ('{"member_id": "%s", "hotel_code": "%s", "check_in": "%s"}'):format(member, codes[1], date),
      ('{"予約番号": "%s", "合計": %s}'):format(booking, prices[1]))
    w:reply("予約番号 %s で %s を %s から確保しました。料金は %s 円です。", booking, codes[1],
      date, prices[1])
    w:look_back("%d番目の予約をもう一度教えてください。",
      "予約番号は %s、会員番号は %s、宿は %s です。", "get_booking",
      { booking, member, codes[1] })
  end
  return w
end

---- Triage forms ----

local TRIAGE = [[You fill in triage forms for a clinic. Ask for what is missing. Never give a diagnosis. Urgency goes
from 1 (at once) to 5. Read the form back before you file it.]]

local function triage()
  local w = writer("triage", TRIAGE, 53)
  for _ = 1, 6 do
    local record, name = "MRN" .. w:number(1000000, 9999999), w:pick { "Ines Duarte", "Peter Nowak", "Aiko Mori" }
    local pressure, pulse, heat = w:number(100, 180) .. "/" .. w:number(60, 110), w:number(100, 140),
      w:number(36, 40) .. "." .. w:number(0, 9)
    local drug, phone = w:pick { "lisinopril 10mg", "metformin 500mg", "warfarin 5mg" }, "555-0" .. w:number(100, 199)
    w:user("New patient: %s, born 19%d-0%d-1%d, record %s. Complains of chest pain since 06:%d.", name, w:number(40,
      99),
      w:number(1, 9), w:number(0, 9), record, w:number(10, 59))
    w:call("open_form", ('{"record": "%s", "form": "triage-2"}'):format(record), ('{"form_id": "F-%s", "fields": '
      .. '["blood_pressure", "pulse", "temperature", "medication", "allergies", "contact"], "bed": "B%d"}'):format(
      w:code(5), w:number(10, 40)))
    local form = w.messages[#w.messages].content:match '"form_id": "([^"]+)"'
    w:reply("I have opened form %s for %s. What are the vital signs?", form, record)
    w:user("Blood pressure %s, pulse %d, temperature %s. Takes %s.", pressure, pulse, heat, drug)
    w:call("check_drug", ('{"drug": "%s"}'):format(drug), ('{"drug": "%s", "warnings": [{"code": "W%d", "text": '
      .. '"watch potassium"}, {"code": "W%d", "text": "no contrast agent"}], "class": "C%d"}'):format(drug,
      w:number(100, 999), w:number(100, 999), w:number(10, 99)))
    w:reply("Noted: %s, pulse %d. Any allergies, and whom may we call?", pressure, pulse)
    w:user("Penicillin. Her sister, %s. She is in the waiting room with a blanket and has had some water to drink.",
      phone)
    w:reply("Thank you. To be filed: record %s, blood pressure %s, temperature %s, %s, contact %s. Right?", record,
      pressure, heat, drug, phone)
    w:user("Yes, urgency 2.")
    w:call("file_form",
      ('{"form_id": "%s", "record": "%s", "blood_pressure": "%s", "pulse": "%d", "temperature": "%s", '
      .. '"medication": "%s", "contact": "%s", "urgency": "2"}'):format(form, record, pressure, pulse, heat, drug,
        phone),
      '{"filed": true}')
    w:reply("Form %s is filed.", form)
    w:look_back("Which contact did patient %d give?", "Form %s, record %s: %s.", "open_form", { form, record, phone })
  end
  return w
end

---- Spreadsheets ----

local SHEETS = [[You edit spreadsheets through tools. Cells are named A1 style. Read a range before you write to it.
Say which cells changed.]]

local function sheets()
  local w = writer("sheets", SHEETS, 67)
  for _ = 1, 5 do
    local file, sheet = ("budget_%d_%s.xlsx"):format(w:number(2020, 2027), w:code(3):lower()),
      w:pick { "Summary", "Plan", "Costs" }
    w:user("Open %s and look at sheet %s, please.", file, sheet)
    local cells, sums = {}, {}
    local range = rows(10, function(i)
      cells[i], sums[i] = ("%s-%d"):format(w:pick { "CC", "PR" }, w:number(100, 999)), tostring(w:number(1200, 98000))
      return ('["%s", "%s", %s, %s]'):format(cells[i], w:pick { "Travel", "Rent", "Licences" }, sums[i],
        tostring(w:number(1200, 98000)))
    end)
    w:call("read_range", ('{"file": "%s", "sheet": "%s", "range": "A2:D11"}'):format(file, sheet),
      '{"header": ["cost_centre", "kind", "plan", "actual"], "values": [' .. table.concat(range, ", ") .. "]}")
    w:reply("%s has ten rows; %s plans %s, %s plans %s.", file, cells[1], sums[1], cells[6], sums[6])
    local target, formula = ("F%d"):format(w:number(20, 90)), ("=SUM(C%d:C%d)"):format(w:number(2, 5), w:number(10,
      30))
    w:user("Put %s into %s and mark what is over the plan.", formula, target)
    w:call("write_cell", ('{"file": "%s", "sheet": "%s", "cell": "%s", "value": "%s"}'):format(file, sheet, target,
      formula), ('{"ok": true, "result": %d}'):format(w:number(10000, 99999)))
    local total = w.messages[#w.messages].content:match "(%d+)}"
    w:reply("%s is now %s, which makes %s.", target, formula, total)
    w:user("Raise the plan of %s by ten per cent and tell me the old figure.", cells[4])
    w:call("write_cell", ('{"file": "%s", "sheet": "%s", "cell": "C5", "value": %d}'):format(file, sheet,
      tonumber(sums[4]) * 11 // 10), '{"ok": true}')
    w:reply("%s was %s and is %d. The total in %s was %s.", cells[4], sums[4], tonumber(sums[4]) * 11 // 10, target,
      total)
    w:look_back("Go back to file %d: what was the total?", "In %s it was %s, by %s.", "open_file", { file, total,
      formula })
  end
  return w
end

---- Mathematics ----

local function mathematics()
  local w = writer("math", "You solve problems step by step and compute with a tool. Keep earlier results at hand.",
    71)
  local found = {}
  for round = 1, 14 do
    local a, b = w:number(100, 999), w:number(100, 999)
    local back = round > 3 and found[round - 3] or tostring(w:number(1000, 9999))
    w:user("Step %d: take a = %d and b = %d. Multiply them, add %s, and name the remainder by 97.", round, a, b, back)
    local value = a * b + tonumber(back)
    w:call("compute", ('{"expression": "%d * %d + %s"}'):format(a, b, back), ('{"value": %d}'):format(value))
    w:call("compute", ('{"expression": "%d %% 97", "value": %d}'):format(value, value), ('{"value": %d}'):format(
      value % 97 + 1000))
    found[round] = tostring(value % 100000 + 100000)
    w:reply("With a = %d and b = %d the value is %d. We keep r%d = %s for later. The product alone shows how fast "
      .. "these numbers grow, and why one reduces early.", a, b, value, round, found[round])
    if round % 4 == 0 then
      w:user("Which were the last two kept numbers?")
      w:reply("They are r%d = %s and r%d = %s.", round - 1, found[round - 1], round, found[round])
    end
  end
  return w
end

---- A long talk without tools ----

local function talk()
  local w = writer("talk", "You help a choir's chairwoman to plan a year. Be brief.", 83)
  local halls = rows(6, function(i) return { w:pick { "St Anne", "Town Hall", "Old Mill", "Kulturhof" } .. " " .. i,
    ("2026-%02d-%02d"):format(i + 3, w:number(10, 28)), tostring(w:number(300, 2400)), "0" .. w:number(30000,
      99999) } end)
  for i, hall in ipairs(halls) do
    w:user("For concert %d I think of %s on %s. They want %s euros, telephone %s. It has a good organ, and last time "
      .. "we were there people liked how near they sat to us.", i, hall[1], hall[2], hall[3], hall[4])
    w:reply("Good: %s on %s for %s euros. I would ask whether the heating is in the price, for singers feel cold, "
      .. "and whether we may rehearse there on the day before.", hall[1], hall[2], hall[3])
    w:user("What should we sing there? Something in the mother tongue of our guests would please many.")
    w:reply("Begin with the piece of %d bars in D minor that all know by heart, then something light. It should end "
      .. "before 21:%d, for the last bus leaves then.", w:number(100, 240), w:number(10, 50))
    if i > 2 then
      local old = halls[i - 2]
      w:user("Remind me of what we said about concert %d?", i - 2)
      w:reply("That was %s on %s, %s euros; one calls %s there.", old[1], old[2], old[3], old[4])
    end
  end
  return w
end

---- Browsing ----

local function browsing()
  local w = writer("browsing",
    "You browse the web for a librarian. Follow links, quote sources with their addresses.", 97)
  for _ = 1, 5 do
    local word = w:pick { "lichen", "harbour", "loom", "glacier" }
    w:user("Find me two good sources on the %s and the year each was published.", word)
    local links = rows(8, function() return ("https://%s.example.org/%s/%d/%s.html"):format(w:pick { "archive",
      "journal",
      "library" }, word, w:number(1000, 9999), w:code(7):lower()) end)
    w:call("search_web", ('{"query": "%s source"}'):format(word), table.concat(rows(8, function(i)
      return ("%d. %s of the %s\n   %s\n   A text about %s, with maps and a list of names; last changed %d."):format(i,
        w:pick { "History", "Atlas", "Notes" }, word, links[i], word, w:number(1890, 2020)) end), "\n"))
    for _, at in ipairs { 2, 5 } do
      local year, doi = w:number(1890, 2020), ("10.%d/%s.%d"):format(w:number(1000, 9999), w:code(4):lower(),
        w:number(100, 999))
      w:call("open_page", ('{"url": "%s"}'):format(links[at]), ("# %s\n\nPublished %d, doi:%s.\n\n"):format(word,
        year, doi)
        .. ("The %s has been described by many; the first to do so walked there on foot. "):format(word):rep(12)
        .. ("\n\nSee also %s and page %d."):format(links[at + 1], w:number(10, 400)))
      w:reply("%s was published in %d (doi:%s).", links[at], year, doi)
    end
    w:user("Save both to my list.")
    w:call("save_list", ('{"urls": ["%s", "%s"], "list": "%s-sources"}'):format(links[2], links[5], word),
      ('{"list_id": "L-%s"}'):format(w:code(6)))
    w:reply("Both are saved, %s first; the next to read would be %s.", links[2], links[6])
    w:look_back("Open the first source of search %d again.", "%s; the other was %s.", "open_page", { links[2],
      links[5] })
  end
  return w
end

---- Mixed ----

local function mixed()
  local w = writer("mixed",
    "You assist a small firm: mail, calendar, files, invoices. Ask before you send anything.", 101)
  for _ = 1, 5 do
    local invoice, client = "INV-2026-" .. w:number(1000, 9999), w:pick { "Brandt & Söhne", "Kiwi Labs",
      "Molino Sur" }
    local mail = ("%s%d@example.com"):format(w:pick { "office", "billing" }, w:number(10, 99))
    w:user("%s has not paid %s. Their address is %s. What is open?", client, invoice, mail)
    w:call("find_invoice", ('{"number": "%s"}'):format(invoice),
      ('{"number": "%s", "client": {"name": "%s", "tax_id": '
      .. '"DE%d"}, "lines": [%s], "due": "2026-%02d-%02d", "pdf": "/files/invoices/%s.pdf"}'):format(invoice, client,
      w:number(100000000, 999999999), table.concat(rows(4,
        function() return ('{"sku": "%s", "hours": %d, "amount": %d.50}')
        :format(w:code(7), w:number(10, 99), w:number(200, 9000)) end), ", "), w:number(1, 9), w:number(10, 28),
      invoice:lower()))
    local due = w.messages[#w.messages].content:match '"due": "([^"]+)"'
    local amount = w.messages[#w.messages].content:match '"amount": ([%d.]+)'
    w:reply("%s was due on %s; the first line is %s.", invoice, due, amount)
    w:user("When am I free next week?")
    local slots = rows(7, function() return ("2026-05-%02dT%02d:%02d"):format(w:number(10, 28), w:number(10, 17),
      w:number(10, 59)) end)
    w:call("free_slots", '{"week": "2026-W20", "minutes": 30}', '{"slots": ["' .. table.concat(slots, '", "')
      .. '"]}')
    w:reply("%s or %s would do.", slots[2], slots[3])
    w:user("Take the second. Mail them the invoice and the time.")
    w:call("create_event", ('{"start": "%s", "title": "Call %s"}'):format(slots[3], client), ('{"event_id": "ev_%s"}')
      :format(w:code(10):lower()))
    w:call("send_mail", ('{"to": "%s", "attachment": "/files/invoices/%s.pdf", "start": "%s"}'):format(mail,
      invoice:lower(), slots[3]), '{"sent": true}')
    w:reply("Sent to %s: invoice %s, the call at %s.", mail, invoice, slots[3])
    w:look_back("And client %d: when do we talk, and about what?", "%s, at %s, mail %s.", "find_event",
      { invoice, slots[3], mail })
  end
  return w
end

local WRITERS = { shop, sql, operations, travel, triage, sheets, mathematics, talk, browsing, mixed }

---@return { name: string, messages: table[] }[]
function kinds.all()
  local list = {}
  for i, write in ipairs(WRITERS) do
    local w = write()
    list[i] = { name = w.name, messages = w.messages }
  end
  return list
end

return kinds

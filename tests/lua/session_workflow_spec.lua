--- Workflows on sessions, in SQLite and in PostgreSQL: nodes that go on with another conversation, runs that are
--- killed, and `ebb each` in shards.

local helper = dofile "tests/lua/helper.lua"
local command = dofile "tests/lua/command.lua"
local server = dofile("tests/lua/postgres_server.lua").start()

local ebb = helper.ebb
local does = command.does

local BODY = '{"model":"gpt-4o","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"one"},'
  .. '{"role":"assistant","content":"two"}]}'

local function in_file() return command.path_of "s.db" end
local function in_server() return (server:new()) end

for name, new_place in pairs { SQLite = in_file, PostgreSQL = server and in_server or nil } do
  local place

  --- Writes a workflow, and gives the line that runs it on the session `s`.
  local function line_of(text, more)
    return ("run %s --session s %s"):format(command.file("flow.lua", text), more or "")
  end

  describe("in " .. name .. ",", function()
    before_each(function()
      command.make_folder()
      place = new_place()
      command.environment = ("EBB_DB='%s' "):format(place)
    end)
    after_each(function()
      command.remove_folder()
      command.environment = nil
    end)
    if server and new_place == in_server then teardown(function() server:remove() end) end

    local function open() return assert(ebb.session(place, "s")) end

    describe("a session that goes on with another conversation", function()
      before_each(function() does("session new s " .. command.file("body.json", BODY)) end)

      it("has the messages of a convert node, and what is around them; earlier batches stay", function()
        does(line_of 'return { { type = "convert", to = "anthropic" }, { type = "check" } }')
        local session <close> = open()
        assert.same({ "anthropic", "user one", "assistant two" }, { session.chat:dialect(),
          session[1].role .. " " .. session[1].text, session[2].role .. " " .. session[2].text })
        assert.matches('"system":%[{"type":"text","text":"Be brief."}%]', session.chat:fork():json())
        session:rollback(0)
        assert.same({ 3, "system" }, { #session, session[1].role })
      end)

      it("has those of a pipeline node; equal ones keep their marks, and later nodes see them", function()
        does(line_of [[return {
          { type = "script", run = function(chat) chat:mark(2, "pinned") end },
          { type = "pipeline", agent = { name = "A", presets = { { role = "system", content = "Be A." },
            { type = "chat_history" } } } },
          { type = "script", run = function(chat)
            chat:append { role = "user", content = "after " .. chat[1].text:sub(1, 5) }
          end },
        }]])
        local session <close> = open()
        assert.same({ 4, "one", "after Be A." }, { #session, session:marked("pinned")[1].text, session[4].text })
      end)

      it("is not changed on a dry run, nor with -o", function()
        local flow = 'return { { type = "convert", to = "gemini" } }'
        local version = open().version
        does(line_of(flow, "--dry-run"))
        does(line_of(flow, "-o " .. command.path_of "out.json"))
        assert.equal(version, open().version)
        assert.matches('"contents"', command.read(command.path_of "out.json"))
      end)
    end)

    it("a run that is killed at a node goes on there, and does nothing twice", function()
      local flow = ([[local folder, list = %q, {}
        for i = 1, 6 do
          list[i] = { type = "script", run = function(chat)
            if i %% 2 == 0 and not io.open(folder .. "/was" .. i) then
              io.open(folder .. "/was" .. i, "w"):close()
              io.popen("kill -KILL $PPID"):close()
              for _ = 1, 1e9 do end
            end
            chat:append { role = "user", content = tostring(i) }
          end }
        end
        table.insert(list, 4, { type = "convert", to = "anthropic" })
        return list]]):format(command.folder)
      does "session new s"
      local line = line_of(flow)
      for _ = 1, 3 do assert.equal(137, command.ebb(line).status) end
      command.contains("goes on after node", select(2, does(line)))
      local session <close> = open()
      local texts = {}
      for i, message in ipairs(session) do texts[i] = message.text end
      assert.equal("1 2 3 4 5 6", (table.concat(texts, " "):gsub("\n", " ")))   -- the first ones were joined
      assert.equal(0, #assert(session.store:check()))
    end)

    it("shards of one store have each session once, killed and run again", function()
      for i = 1, 40 do
        local session <close> = assert(ebb.session(place, "s" .. i))
        session:append { role = "user", content = "question " .. i }
      end
      command.file("flow.lua", "return { { type = 'script', run = function() for _ = 1, 1e7 do end end } }")
      local function line(shard)
        return ("each 'session:*' --run %s --out %s/out%d --shard %d/3 --jobs 2"):format(command.path_of "flow.lua",
          command.folder, shard, shard)
      end
      local journal = command.path_of "out1/journal-1-3.jsonl"
      os.execute(([[%s %s %s >/dev/null 2>&1 & pid=$!
        while kill -0 $pid 2>/dev/null && [ "$(cat %s 2>/dev/null | wc -l)" -lt 4 ]; do sleep 0.005; done
        kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null]]):format("env " .. command.environment, command.EBB, line(1),
        journal))
      local together = {}
      for shard = 1, 3 do together[shard] = ("env %s %s %s"):format(command.environment, command.EBB, line(shard)) end
      assert.is_true(select(2, command.read(journal):gsub("\n", "")) < 14)      -- it was killed on its way
      assert(os.execute(("{ %s & %s & %s & wait; } >/dev/null 2>&1"):format(table.unpack(together))))
      local seen = 0
      for i = 1, 40 do
        local holders = 0
        for shard = 1, 3 do
          local result = command.read(("%s/out%d/s%d.json"):format(command.folder, shard, i))
          holders = holders + (result and result:find("question " .. i, 1, true) and 1 or 0)
        end
        assert.equal(1, holders, i)
        seen = seen + holders
      end
      assert.equal(40, seen)
    end)
  end)
end

--- Drawings of a workflow: a graph in the language of Graphviz, or a picture.
--
--     sequence --walk--> vertices and edges --layers--> dot, svg
--
-- A branch has an edge for each answer, a loop an edge back, a parallel node one for each of its lists.

local drawing = {}

---@class ebb.Vertex
---@field label string
---@field kind string            "start", "end", "node", or of the node
---@field layer? integer

---@class ebb.Drawing
---@field vertices ebb.Vertex[]
---@field edges { from: integer, to: integer, label?: string, back?: boolean }[]

local function add(picture, label, kind)
  picture.vertices[#picture.vertices + 1] = { label = label, kind = kind }
  return #picture.vertices
end

local function connect(picture, exits, to, back)
  for _, exit in ipairs(exits) do
    picture.edges[#picture.edges + 1] = { from = exit[1], to = to, label = exit[2], back = back }
  end
end

local walk   -- forward

--- The nodes of a graph and their edges; the ways out of it.
local function walk_graph(picture, sequence, exits)
  local numbers, out = {}, {}
  for i, node in ipairs(sequence.nodes) do
    numbers[i] = add(picture, node.label, node.kind or "node")
  end
  connect(picture, exits, numbers[sequence.graph.start])
  for i in ipairs(sequence.nodes) do
    local ways, names = sequence.graph.next[i], {}
    for answer in pairs(ways) do names[#names + 1] = answer end
    table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
    for _, answer in ipairs(names) do
      local exit = { numbers[i], answer ~= "" and tostring(answer) or nil }
      if ways[answer] == 0 then out[#out + 1] = exit
      else connect(picture, { exit }, numbers[ways[answer]], ways[answer] <= i) end
    end
    if not names[1] then out[#out + 1] = { numbers[i] } end
  end
  return out
end

--- A node with parts; the ways out of it.
local function walk_parts(picture, node, number)
  local exits = {}
  for _, part in ipairs(node.parts) do
    local way = { number, part[1] }
    local ends = part[2] and walk(picture, part[2], { way }) or { way }
    if node.kind == "loop" then
      connect(picture, ends, number, true)
      ends = { { number, "done" } }
    end
    table.move(ends, 1, #ends, #exits + 1, exits)
  end
  return exits
end

--- Adds a sequence; answers the ways out of it.
function walk(picture, sequence, exits)
  if sequence.graph then return walk_graph(picture, sequence, exits) end
  for _, node in ipairs(sequence.nodes) do
    local number = add(picture, node.label, node.kind or "node")
    connect(picture, exits, number)
    exits = node.parts and walk_parts(picture, node, number) or { { number } }
  end
  return exits
end

---@param sequence ebb.Sequence
---@return ebb.Drawing
local function picture_of(sequence)
  local picture = { vertices = {}, edges = {} }
  local exits = walk(picture, sequence, { { add(picture, "start", "start") } })
  connect(picture, exits, add(picture, "end", "end"))
  return picture
end

---- Graphviz ----

local SHAPES = {
  start = "circle", ["end"] = "doublecircle", branch = "diamond", loop = "hexagon", parallel = "trapezium",
  workflow = "component",
}

local function quoted(text) return '"' .. text:gsub('[\\"]', "\\%0"):gsub("%c", " ") .. '"' end

---@param sequence ebb.Sequence
---@param name? string
---@return string
function drawing.dot(sequence, name)
  local picture, lines = picture_of(sequence), { ("digraph %s {"):format(quoted(name or "workflow")) }
  for i, vertex in ipairs(picture.vertices) do
    lines[#lines + 1] = ("  n%d [label=%s, shape=%s];"):format(i, quoted(vertex.label), SHAPES[vertex.kind] or "box")
  end
  for _, edge in ipairs(picture.edges) do
    local label = edge.label and (" [label=%s]"):format(quoted(edge.label)) or ""
    lines[#lines + 1] = ("  n%d -> n%d%s;"):format(edge.from, edge.to, label)
  end
  lines[#lines + 1] = "}\n"
  return table.concat(lines, "\n")
end

---- A picture ----

local HEIGHT, GAP_X, GAP_Y, MARGIN, LETTER = 36, 40, 44, 60, 8   -- pixels

--- Puts every vertex below those that lead to it.
local function place(picture)
  local vertices, rows = picture.vertices, {}
  for _ = 1, #vertices do
    local moved = false
    for _, edge in ipairs(picture.edges) do
      local layer = (vertices[edge.from].layer or 1) + 1
      if not edge.back and layer <= #vertices and layer > (vertices[edge.to].layer or 1) then
        vertices[edge.to].layer, moved = layer, true
      end
    end
    if not moved then break end
  end
  for _, vertex in ipairs(vertices) do
    vertex.layer = vertex.layer or 1
    rows[vertex.layer] = rows[vertex.layer] or { width = 0 }
    local row = rows[vertex.layer]
    vertex.width = math.max(50, LETTER * (utf8.len(vertex.label) or #vertex.label) + 20)
    vertex.x, row.width = row.width, row.width + vertex.width + GAP_X
  end
  local widest = 0
  for _, row in pairs(rows) do widest = math.max(widest, row.width - GAP_X) end
  for _, vertex in ipairs(vertices) do
    local row = rows[vertex.layer]
    vertex.x = MARGIN + vertex.x + (widest - row.width + GAP_X) / 2 + vertex.width / 2
    vertex.y = 20 + (vertex.layer - 1) * (HEIGHT + GAP_Y)
  end
  return widest + 2 * MARGIN, 40 + #rows * (HEIGHT + GAP_Y) - GAP_Y
end

local ESCAPES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

local function escaped(text) return (text:gsub('[&<>"]', ESCAPES):gsub("%c", " ")) end

local function edge_lines(picture, edge)
  local from, to = picture.vertices[edge.from], picture.vertices[edge.to]
  local x1, y1, x2, y2 = from.x, from.y + HEIGHT, to.x, to.y
  local path = ("M%.0f %.0f C%.0f %.0f %.0f %.0f %.0f %.0f"):format(x1, y1, x1, y1 + GAP_Y / 2, x2, y2 - GAP_Y / 2, x2,
    y2)
  local label_x, label_y = (x1 + x2) / 2 + 6, (y1 + y2) / 2
  if edge.back then   -- around the left side
    x1, y1, x2, y2 = from.x - from.width / 2, from.y + HEIGHT / 2, to.x - to.width / 2, to.y + HEIGHT / 2
    local left = math.min(x1, x2) - GAP_X
    path = ("M%.0f %.0f C%.0f %.0f %.0f %.0f %.0f %.0f"):format(x1, y1, left, y1, left, y2, x2, y2)
    label_x, label_y = left + 8, (y1 + y2) / 2
  end
  local line = ('<path d="%s" marker-end="url(#tip)"/>'):format(path)
  if not edge.label then return line end
  return ('%s<text x="%.0f" y="%.0f" class="edge">%s</text>'):format(line, label_x, label_y, escaped(edge.label))
end

local STYLE = "path{fill:none;stroke:#555}rect{fill:#eef3fa;stroke:#456}.branch rect{fill:#fdf3d8}"
  .. ".loop rect{fill:#e7f5e7}.start rect,.end rect{fill:#ddd}"
  .. "text{font:13px sans-serif;text-anchor:middle}text.edge{font-size:11px;fill:#666;"
  .. "text-anchor:start}"

---@param sequence ebb.Sequence
---@param name? string
---@return string
function drawing.svg(sequence, name)
  local picture = picture_of(sequence)
  local width, height = place(picture)
  local lines = {
    ('<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f">')
      :format(width, height, width, height),
    ("<title>%s</title><style>%s</style>"):format(escaped(name or "workflow"), STYLE),
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
      .. '<path d="M0 0L8 4L0 8z" style="fill:#555"/></marker></defs>',
  }
  for _, edge in ipairs(picture.edges) do lines[#lines + 1] = edge_lines(picture, edge) end
  for _, vertex in ipairs(picture.vertices) do
    local left, round = vertex.x - vertex.width / 2, vertex.kind == "branch" and 16 or 5
    lines[#lines + 1] = ('<g class="%s"><rect x="%.0f" y="%.0f" width="%.0f" height="%d" rx="%d"/>'
      .. '<text x="%.0f" y="%.0f">%s</text></g>'):format(vertex.kind, left, vertex.y, vertex.width, HEIGHT, round,
      vertex.x, vertex.y + HEIGHT / 2 + 5, escaped(vertex.label))
  end
  lines[#lines + 1] = "</svg>\n"
  return table.concat(lines, "\n")
end

return drawing

--- Never ends, whatever stops it. Its fuel runs out, and keep_recent takes its place.
return function()
  while true do
    pcall(function()
      while true do end
    end)
  end
end

--- Never ends to say what it is. Loading has a small part of a call's fuel, so no frame is lost.
while true do end

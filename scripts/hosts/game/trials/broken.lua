--- Is no policy: the one that was there stays.
return { name = "broken", trim = 7 }

--- A file that is no policy: the earlier one stays.
return { name = "broken", trim = 7 }

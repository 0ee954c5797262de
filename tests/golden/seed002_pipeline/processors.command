# Sections 2.1 and 3.2: the built-in processors in their order; lorebook is of Ebb.
ebb processors | awk '{print $1, $2, $3}'

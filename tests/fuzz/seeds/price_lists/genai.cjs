const E=[{id:"anthropic",model_match:{or:[{contains:"claude"},{regex:"^c"}]},models:[{id:'claude-9',name:`two
\x41\u00e9`,context_window:2e5,on:!0,prices:[{prices:{input_mtok:{base:.8,tiers:[]},output_mtok:4,}},
{constraint:{start_date:"2026-01-01"},prices:{input_mtok:1,output_mtok:2,input_audio_mtok:3}}]}]}], // end
J={};

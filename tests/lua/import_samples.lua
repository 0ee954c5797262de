-- luacheck: ignore 631 (lines of files stay whole)
--- A file of each form that ebb.import reads: name -> text. Small, with most of what the form can hold.

local NL = "\n"

local function lines(list) return table.concat(list, NL) .. NL end

return {
  codex = lines {
    '{"timestamp":"t","type":"session_meta","payload":{"id":"s","base_instructions":{"text":"Be brief."},"dynamic_tools":[{"name":"f","inputSchema":{}}]}}',
    '{"timestamp":"t","type":"turn_context","payload":{"model":"gpt-5.2-codex"}}',
    '{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"q"}]}}',
    '{"timestamp":"t","type":"event_msg","payload":{"type":"user_message","message":"q"}}',
    '{"timestamp":"t","type":"response_item","payload":{"type":"reasoning","summary":[],"encrypted_content":"x"}}',
    '{"timestamp":"t","type":"response_item","payload":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}}',
    '{"timestamp":"t","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"o"}}',
    '{"timestamp":"t","type":"compacted","payload":{"message":"S"}}',
    '{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":"r"}}',
    '{"timestamp":"t","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}',
    '{"timestamp":"t","type":"compacted","payload":{"message":"","replacement_history":[{"role":"user","content":"k"}]}}',
    '{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}}',
  },
  pi = lines {
    '{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"p"}',
    '{"type":"message","id":"1","parentId":null,"message":{"role":"system","sections":{"a":"x","b":{"text":"y"}},"toolsAdded":[{"name":"f"}]}}',
    '{"type":"message","id":"2","parentId":"1","message":{"role":"user","content":"q"}}',
    '{"type":"message","id":"3","parentId":"2","message":{"role":"assistant","model":"claude-x","content":[{"type":"thinking","thinking":"h","thinkingSignature":"s"},{"type":"toolCall","id":"c","name":"f","arguments":{"a":1}}]}}',
    '{"type":"message","id":"4","parentId":"3","message":{"role":"toolResult","toolCallId":"c","content":[{"type":"text","text":"o"},{"type":"image","data":"aGk=","mimeType":"image/png"}],"isError":true}}',
    '{"type":"compaction","id":"5","parentId":"4","summary":"S","firstKeptEntryId":"4","systemMessage":{"role":"system","sections":[{"name":"a","text":"x"}]}}',
    '{"type":"context_edit","id":"6","parentId":"5","targetId":"4","replacement":null}',
    '{"type":"custom_message","id":"7","parentId":"6","content":"x"}',
    '{"type":"branch_summary","id":"8","parentId":"7","summary":"b"}',
    '{"type":"message","id":"9","parentId":"8","message":{"role":"bashExecution","command":"ls","output":"o","exitCode":1}}',
  },
  claude_code = lines {
    '{"type":"summary","summary":"x"}',
    '{"type":"user","uuid":"a","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"q"}}',
    '{"type":"assistant","uuid":"b","parentUuid":"a","sessionId":"s","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"text","text":"hi"}]}}',
    '{"type":"assistant","uuid":"c","parentUuid":"b","sessionId":"s","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{"a":1}}]}}',
    '{"type":"assistant","uuid":"d","parentUuid":"c","sessionId":"s","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t2","name":"f","input":{}}]}}',
    '{"type":"user","uuid":"e","parentUuid":"c","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"o"}]}}',
    '{"type":"user","uuid":"f","parentUuid":"d","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"o"}]}}',
    '{"type":"user","uuid":"z","parentUuid":"a","sessionId":"s","isSidechain":true,"agentId":"g","message":{"role":"user","content":"side"}}',
    '{"type":"system","uuid":"g","parentUuid":null,"logicalParentUuid":"f","sessionId":"s","subtype":"compact_boundary","compactMetadata":{"preservedMessages":{"anchorUuid":"h","uuids":["d","f"]},"preservedSegment":{"headUuid":"d","anchorUuid":"h","tailUuid":"f"}}}',
    '{"type":"user","uuid":"h","parentUuid":"g","sessionId":"s","isCompactSummary":true,"message":{"role":"user","content":"S"}}',
    '{"type":"attachment","uuid":"k","parentUuid":"h","sessionId":"s","attachment":{"type":"file","filename":"f","content":{"type":"text","file":{"content":"c"}}}}',
    '{"type":"attachment","uuid":"l","parentUuid":"k","sessionId":"s","attachment":{"type":"n"},"rendered":[{"content":"r"}],"renderedRole":"system"}',
    '{"type":"user","uuid":"m","parentUuid":"l","sessionId":"s","isMeta":true,"message":{"role":"user","content":[{"type":"text","text":"m"}]}}',
    '{"type":"api-request-shape","sessionId":"s","shape":{"system":[{"type":"text","text":"x"}],"tools":[{"name":"f","input_schema":{}}]}}',
    '{"type":"user","uuid":"i","parentUuid":"phantom","sessionId":"s","message":{"role":"user","content":"go"}}',
  },
  qwen_code = lines {
    '{"uuid":"a","parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"q"}]}}',
    '{"uuid":"b","parentUuid":"a","sessionId":"s","type":"assistant","model":"m","message":{"role":"model","parts":[{"functionCall":{"id":"c","name":"f","args":{}}}]}}',
    '{"uuid":"c","parentUuid":"b","sessionId":"s","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c","name":"f","response":{"output":"o"}}}]}}',
    '{"uuid":"d","parentUuid":"c","sessionId":"s","type":"system","subtype":"chat_compression","systemPayload":{"compressedHistory":[{"role":"user","parts":[{"text":"S"}]}]}}',
    '{"uuid":"e","parentUuid":"phantom","sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"r"}]}}',
  },
  copilot = lines {
    '{"type":"session.start","data":{"sessionId":"s","selectedModel":"m"},"id":"1"}',
    '{"type":"user.message","data":{"content":"q","transformedContent":"t q","attachments":[{"type":"blob","data":"aGk=","mimeType":"image/png"}]},"id":"2"}',
    '{"type":"system.message","data":{"role":"system","content":"S"},"id":"3"}',
    '{"type":"assistant.message","data":{"content":"","reasoningText":"h","toolRequests":[{"toolCallId":"c","name":"f","arguments":{"a":1}}]},"id":"4"}',
    '{"type":"tool.execution_complete","data":{"toolCallId":"c","success":true,"result":{"content":"o","contents":[{"type":"image"}]}},"id":"5"}',
    '{"type":"session.snapshot_rewind","data":{"upToEventId":"5"},"id":"6"}',
    '{"type":"session.compaction_complete","data":{"success":true,"summaryContent":"x"},"id":"7"}',
  },
  gemini_cli = lines {
    '{"sessionId":"s","projectHash":"p","startTime":"t"}',
    '{"id":"1","type":"user","content":[{"text":"q"},"r"]}',
    '{"id":"2","type":"gemini","content":"x","toolCalls":[{"id":"c","name":"f","args":{"a":1},"result":[{"functionResponse":{"id":"c","name":"f","response":{"output":"o"}}}]},{"id":"d","name":"f","args":{}}],"thoughts":[{}]}',
    '{"id":"2","type":"gemini","content":"y"}',
    '{"$rewindTo":"2"}',
    '{"$set":{"messages":[{"id":"5","type":"user","content":"s"}]}}',
    '{"id":"6","type":"info","content":"i"}',
  },
  opencode = '{"info":{"id":"ses_1","revert":{"messageID":"m5","partID":"p"}},"messages":[' ..
    '{"info":{"id":"m1","role":"user"},"parts":[{"type":"text","text":"q"},{"type":"file","mime":"image/png","url":"data:image/png;base64,aGk="}]},' ..
    '{"info":{"id":"m2","role":"user"},"parts":[{"type":"compaction","auto":true}]},' ..
    '{"info":{"id":"m3","role":"assistant","modelID":"claude-x","summary":true},"parts":[{"type":"text","text":"S"}]},' ..
    '{"info":{"id":"m4","role":"assistant"},"parts":[{"type":"step-start"},{"type":"reasoning","text":"h"},{"type":"tool","callID":"c","tool":"f",' ..
    '"state":{"status":"completed","input":{"a":1},"output":"o","attachments":[{"url":"data:image/png;base64,aGk="}]}},{"type":"text","text":"x"}]},' ..
    '{"info":{"id":"m5","role":"user"},"parts":[{"id":"o","type":"text","text":"y"},{"id":"p","type":"text","text":"z"}]}]}',
  roo = '[{"role":"user","content":"<task>q</task>","ts":1,"condenseParent":"c"},{"role":"user","content":[{"type":"text","text":"S"}],' ..
    '"isSummary":true,"condenseId":"c"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},' ..
    '{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"o"}]},{"type":"reasoning","encrypted_content":"x"}]',
  sillytavern = lines {
    '{"user_name":"U","character_name":"C","create_date":"d","chat_metadata":{"note_prompt":"n"}}',
    '{"name":"U","is_user":true,"is_system":false,"mes":"q"}',
    '{"name":"C","is_user":false,"is_system":false,"mes":"a","swipes":["a","b"],"swipe_id":0,"extra":{"reasoning":"h"}}',
    '{"name":"C","is_user":false,"is_system":true,"mes":"","extra":{"isSmallSys":true,"tool_invocations":[{"id":"c","name":"f","parameters":"{}","result":"o"}]}}',
  },
  openai_batch = lines {
    '{"custom_id":"r1","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"q"}]}}',
    '{"custom_id":"r2","method":"POST","url":"/v1/responses","body":{"model":"m","input":"q"}}',
  },
  anthropic_batch = lines {
    '{"custom_id":"r1","params":{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"q"}]}}',
    '{"custom_id":"r2","params":{"model":"m","max_tokens":5,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}]}}',
  },
  sharegpt = lines {
    '{"id":"1","conversations":[{"from":"human","value":"q"},{"from":"function_call","value":"{\\"name\\":\\"f\\",\\"arguments\\":{}}"},{"from":"observation","value":"o"},{"from":"gpt","value":"a"}],"system":"s","tools":"[]"}',
    '{"id":"2","conversations":[{"from":"gpt","value":"a"}]}',
  },
  bodies = lines {
    '{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":{"a":1}}}]},{"role":"tool","tool_call_id":"c","content":"o"}]}',
    '{"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}],"system":"s","tools":[]}',
  },
  alpaca = lines {
    '{"instruction":"i","input":"x","output":"o","system":"s","history":[["q","a"]]}',
    '{"instruction":"i","output":"o"}',
  },
  chatgpt = '[{"id":"c1","title":null,"current_node":"b","mapping":{"r":{"id":"r","parent":null,"children":["a"],"message":null},' ..
    '"a":{"id":"a","parent":"r","children":["b"],"message":{"author":{"role":"user"},"content":{"content_type":"text","parts":["q"]},"recipient":"all"}},' ..
    '"b":{"id":"b","parent":"a","children":[],"message":{"author":{"role":"assistant"},"content":{"content_type":"code","text":"x"},"recipient":"python"}}}}]',
  claude_ai = '[{"uuid":"c1","name":"t","chat_messages":[{"uuid":"a","sender":"human","text":"q","content":[{"type":"text","text":"q"}],' ..
    '"attachments":[{"file_name":"f","extracted_content":"x"}]},{"uuid":"b","sender":"assistant","text":"","content":[{"type":"thinking","thinking":"h"},' ..
    '{"type":"tool_use","id":"t","name":"f","input":{}},{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"o"}]},{"type":"text","text":"a"}]}]}]',
  web_ui = '{"conv":{"id":"c","name":"n","currNode":"b"},"messages":[{"id":"r","type":"root","parent":null,"children":["a"]},' ..
    '{"id":"a","type":"text","role":"user","content":"q","parent":"r","children":["b"],"extra":[{"type":"imageFile","base64Url":"data:image/png;base64,aGk="}]},' ..
    '{"id":"b","type":"text","role":"assistant","content":"a","parent":"a","children":[],"thinking":"h","toolCalls":"[]"}]}',
  cline = '{"version":1,"agent":"lead","sessionId":"s","system_prompt":"p","messages":[{"id":"a","role":"user","content":[{"type":"text","text":"<user_input mode=\\"act\\">q</user_input>"}],"ts":1},' ..
    '{"id":"b","role":"assistant","content":[{"type":"thinking","thinking":"h"},{"type":"tool_use","id":"c","name":"f","input":{"a":1}}],"modelInfo":{"id":"m"}},' ..
    '{"id":"d","role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"query":"x","result":"y"}]},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}]}',
  openai_agents = '[{"type":"message","role":"user","content":[{"type":"input_text","text":"q"},{"type":"input_image","image":"data:image/png;base64,aGk="},{"type":"audio","audio":"aGk="}]},' ..
    '{"type":"reasoning","content":[{"type":"input_text","text":"h"}],"providerData":{"encrypted_content":"x"}},{"type":"function_call","callId":"c","name":"f","arguments":"{}"},' ..
    '{"type":"function_call_result","callId":"c","name":"f","output":{"type":"text","text":"o"}},{"type":"hosted_tool_call","name":"w","providerData":{"type":"web_search_call"}},' ..
    '{"type":"shell_call","callId":"s","action":{"commands":["a"],"timeoutMs":1}}]',
  snapshots = '{"messages":[{"role":"system","content":"s"},{"role":"user","content":"r"},{"role":"assistant","content":"a"}],' ..
    '"batchSnapshots":[{"batchIndex":0,"timestamp":1,"messages":[{"role":"system","content":"s"},{"role":"user","content":"q"}],"messageCount":2,"description":"Before REPLACE"},' ..
    '{"batchIndex":1,"timestamp":2,"messages":[],"messageCount":0,"description":"Before CLEAR"}],"currentBatchIndex":2,"totalMessageCount":3}',
  mastra = '[{"id":"1","role":"user","threadId":"t","content":{"format":2,"parts":[{"type":"text","text":"q"}],"experimental_attachments":[{"url":"data:image/png;base64,aGk=","contentType":"image/png"}]}},' ..
    '{"id":"2","role":"assistant","thread_id":"t","type":"v2","content":"{\\"format\\":2,\\"parts\\":[{\\"type\\":\\"tool-invocation\\",\\"toolInvocation\\":{\\"state\\":\\"result\\",\\"toolCallId\\":\\"c\\",\\"toolName\\":\\"f\\",\\"args\\":{},\\"result\\":1}}]}"}]',
  ai_sdk = '[{"role":"user","content":[{"type":"text","text":"q"},{"type":"file","mediaType":"image/png","data":{"type":"url","url":"data:image/png;base64,aGk="}}]},' ..
    '{"role":"assistant","content":[{"type":"reasoning","text":"h"},{"type":"tool-call","toolCallId":"c","toolName":"f","input":{"a":1}},{"type":"tool-approval-request","approvalId":"p","toolCallId":"c"}]},' ..
    '{"role":"tool","content":[{"type":"tool-approval-response","approvalId":"p","approved":false},{"type":"tool-result","toolCallId":"c","toolName":"f","output":{"type":"content","value":[{"type":"text","text":"o"}]}}]},' ..
    '{"id":"u","role":"assistant","parts":[{"type":"step-start"},{"type":"tool-f","toolCallId":"d","state":"output-available","input":{},"output":{"b":1}},{"type":"text","text":"a"}]}]',
  langchain = '[{"type":"human","data":{"content":"q"}},{"type":"ai","data":{"content":[{"type":"text","text":"x"}],"tool_calls":[{"id":"c","name":"f","args":{},"type":"tool_call"}]}},' ..
    '{"type":"tool","data":{"content":"o","tool_call_id":"c","status":"error"}}]',
  card = '{"spec":"chara_card_v3","spec_version":"3.0","name":"A","data":{"name":"A","nickname":"B","description":"<BOT>","first_mes":"hi {{user}}",' ..
    '"mes_example":"<START>\\nx","alternate_greetings":["y"],"tags":["t"],"extensions":{"depth_prompt":{"prompt":"p","depth":1,"role":"system"},' ..
    '"regex_scripts":[{"findRegex":"/a/g","replaceString":"b","placement":[1]}]},"character_book":{"name":"w","scan_depth":3,"entries":[{"id":1,"keys":["k"],' ..
    '"secondary_keys":["s"],"selective":true,"content":"@@depth 1\\nc","insertion_order":1,"enabled":true,"extensions":{"position":4,"selectiveLogic":1,"sticky":2}}]}}}',
  world = '{"entries":{"0":{"uid":0,"key":["k"],"keysecondary":["s"],"content":"c","position":1,"group":"a, b","characterFilter":{"isExclude":true,"names":["n"],"tags":[]}},' ..
    '"1":{"uid":1,"key":["/x/i"],"content":"d","delayUntilRecursion":true,"outletName":"o","position":7}}}',
  scripts = '{"presets":[{"name":"p","rules":[{"id":"r","regex":"x","replacement":"y","flags":"g"},{"id":"s","regex":"/z/"}]}]}',
  st_preset = '{"temperature":1,"openai_max_context":4000,"openai_max_tokens":300,"prompts":[{"identifier":"main","role":"system","content":"m"},' ..
    '{"identifier":"chatHistory","marker":true},{"identifier":"d","content":"x","injection_position":1,"injection_depth":2}],' ..
    '"prompt_order":[{"character_id":100001,"order":[{"identifier":"main","enabled":true},{"identifier":"chatHistory","enabled":true},{"identifier":"d","enabled":false}]}]}',
  aiohub = '{"type":"AIO_Agent_Export","version":1,"agents":[{"name":"A","modelId":"m","presetMessages":[{"id":"1","role":"system","content":"c"}],' ..
    '"greetings":[{"role":"assistant","content":"hi"}],"parameters":{"temperature":1,"contextManagement":{"enabled":true,"maxContextTokens":900}},' ..
    '"bundledWorldbooks":[{"id":"w","name":"W","content":{"entries":{"0":{"uid":0,"key":["k"],"content":"c"}}}}]}]}',
  aider = "# aider chat started at 2026-11-01 10:00:00\n\n> aider v1\n#### q\n#### r\n\nanswer\n# heading\n\n> tool\n\n#### s\n\nlast\n",
  chatml = "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n<tool_call>\n{\"name\":\"f\",\"arguments\":{}}\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\no\n</tool_response><|im_end|>\n",
}

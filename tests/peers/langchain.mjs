/* Messages in LangChain's classes, each with its index as id. */
import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";

/* Arguments that are no JSON stay with the message that was read; trimming does not look at them. */
function argumentsOf(call) {
  try { return JSON.parse(call.function.arguments); } catch { return {}; }
}

const toCall = (call) => ({ id: call.id, name: call.function.name, args: argumentsOf(call) });

export function toLangChain(message, index) {
  const fields = { content: message.content ?? "", id: String(index), name: message.name };
  switch (message.role) {
    case "system": return new SystemMessage(fields);
    case "user": return new HumanMessage(fields);
    case "tool": return new ToolMessage({ ...fields, tool_call_id: message.tool_call_id });
    case "assistant": return new AIMessage({ ...fields, tool_calls: (message.tool_calls ?? []).map(toCall) });
    default: throw new Error(`message ${index + 1}: unknown role ${message.role}`);
  }
}

export const prompt = {
  'prompt.title': 'An agent asks',
  'prompt.from': '{platform} wants: {operation}',
  'prompt.chat': 'Chat {id}',
  'prompt.seconds': 'Denied by itself in {seconds} s',
  'prompt.more': '{count} more waiting',
  'prompt.once': 'Allow once',
  'prompt.chat_allow': 'Allow for this chat',
  'prompt.deny': 'Deny',
} as const;

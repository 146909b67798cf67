export const prompt = {
  'prompt.title': 'Ein Agent fragt',
  'prompt.from': '{platform} möchte: {operation}',
  'prompt.chat': 'Chat {id}',
  'prompt.seconds': 'Wird in {seconds} s von selbst abgelehnt',
  'prompt.more': '{count} weitere warten',
  'prompt.once': 'Einmal erlauben',
  'prompt.chat_allow': 'Für diesen Chat erlauben',
  'prompt.deny': 'Ablehnen',
} as const;

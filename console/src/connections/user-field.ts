/** What the service takes as the user of a session. */
export const USER_PATTERN = '[A-Za-z0-9_.@:+\\-]{1,128}';
export const USER_TITLE = 'Letters, digits and _ . @ : + -, at most 128';

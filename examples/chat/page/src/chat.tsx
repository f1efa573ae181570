import { useChat } from '@ai-sdk/react';
import { useCallback, useEffect, useState, type ReactNode } from 'react';
import type { File as StoredFile } from '@agent-session-service/client';
import { forgetApproval, type Me } from './back-end.js';
import { Composer } from './composer.js';
import { Answer, MyMessage, type Page } from './messages.js';
import { load, openChat, type OpenChat } from './open-chat.js';
import { messageOf, Note, Remembered, type Decision } from './parts.js';
import { Queue } from './queue.js';
import { Thread } from './shell.js';
import { useSession } from './use-session.js';

interface ChatPageProps {
  me: Me;
  id: string;
  onChange: () => void;
  onOpen: (id: string) => void;
}

export function ChatPage({ me, id, onChange, onOpen }: ChatPageProps): ReactNode {
  const [open, setOpen] = useState<OpenChat | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    openChat(me.service, id).then(setOpen, setError);
  }, [me.service, id]);
  if (error !== null) return <main className="chat">{<Note>{messageOf(error)}</Note>}</main>;
  if (open === null) return <main className="chat" aria-busy="true" />;
  return <Opened open={open} onChange={onChange} onOpen={onOpen} />;
}

function Opened({
  open,
  onChange,
  onOpen,
}: { open: OpenChat } & Pick<ChatPageProps, 'onChange' | 'onOpen'>): ReactNode {
  const { id, client, transport, chat } = open;
  const { messages, status, error, sendMessage, regenerate, stop, addToolApprovalResponse, addToolOutput } = useChat({
    chat,
  });
  const [failure, setFailure] = useState<unknown>(null);
  const report = useCallback((cause: unknown) => setFailure(cause), []);
  const { queue, session, unfinished, refresh } = useSession(open, status, report);
  useEffect(onChange, [onChange, status]);
  useEffect(() => {
    open.onFork = onOpen;
  }, [open, onOpen]);

  const hasStream = status === 'submitted' || status === 'streaming';
  // Without a stream of its own, the turn may wait for an answer.
  const isWaiting = !hasStream && session?.status === 'RUNNING';
  const run = (work: Promise<unknown>): void => {
    setFailure(null);
    work.catch(report);
  };
  const send = async (text: string, files: StoredFile[]): Promise<void> => {
    if (!hasStream && !isWaiting) return sendMessage({ text, files: files.map(partOf) });
    await client.sendMessage(id, { content: text, files: files.map((file) => file.id), when_running: 'queue' });
    return refresh();
  };
  const cancel = async (): Promise<void> => {
    if (hasStream) return stop();
    // A turn that waits has no stream to stop.
    await transport.cancel(id);
    return reload();
  };
  const reload = async (): Promise<void> => {
    await load(open);
    chat.clearError();
    await refresh();
    await chat.resumeStream();
  };
  const approve = async (callId: string, { approved, reason, ...more }: Decision): Promise<void> => {
    // The AI SDK knows of neither: the client sends them, and the chat goes on.
    if (more.input !== undefined || more.remember !== undefined)
      await client.confirm(id, { tool_use_id: callId, result: 'allow', ...more });
    await addToolApprovalResponse({ id: callId, approved, ...(reason !== undefined && { reason }) });
    await sendMessage();
    await refresh();
  };

  const page: Page = {
    canAnswer: !hasStream,
    // Each answer is sent at once, so that another tab sees it.
    actions: session?.required_actions ?? [],
    onApproval: (callId, decision) => run(approve(callId, decision)),
    onOutput: (callId, tool, output) =>
      run(
        Promise.resolve(addToolOutput({ tool: tool as never, toolCallId: callId, output: output as never })).then(() =>
          sendMessage(),
        ),
      ),
    onReply: (elicitationId, reply) => run(client.answerElicitation(id, { elicitation_id: elicitationId, ...reply })),
    onConnect: async (serverId) => (await client.authorizeSession(id, { mcp_server_id: serverId })).authorization_url,
    onRefuse: (callId) => run(client.confirm(id, { tool_use_id: callId, result: 'deny' })),
  };
  const canFork = !hasStream && !isWaiting;
  return (
    <main className="chat" data-status={status}>
      <Thread>
        {messages.map((message, index) => {
          if (message.role !== 'user') {
            return (
              <Answer
                key={message.id}
                message={message}
                page={page}
                isStreaming={hasStream && index === messages.length - 1}
                onAgain={canFork ? () => run(regenerate({ messageId: message.id })) : undefined}
              />
            );
          }
          const turnId = messages[index + 1]?.id;
          const canEdit = canFork && turnId?.startsWith('turn_') === true;
          return (
            <MyMessage
              key={message.id}
              message={message}
              onEdit={canEdit ? (text) => run(sendMessage({ text, messageId: message.id })) : undefined}
            />
          );
        })}
        {status === 'submitted' && <p className="working">Working</p>}
        {error !== undefined && (
          <Note
            action={
              <button type="button" onClick={() => run(reload())}>
                Reload
              </button>
            }
          >
            {error.message}
          </Note>
        )}
        {failure !== null && <Note>{messageOf(failure)}</Note>}
        {!hasStream && unfinished !== null && (
          <Note
            action={
              <button type="button" onClick={() => run(client.continueTurn(id).then(reload))}>
                Continue
              </button>
            }
          >
            {unfinished.error?.message ?? 'This answer was stopped.'}
          </Note>
        )}
      </Thread>
      <Remembered
        approvals={session?.remembered_approvals ?? []}
        onForget={(callId) => run(forgetApproval(id, callId).then(refresh))}
      />
      <Queue
        queue={queue}
        isHeld={session?.queue.state === 'held'}
        onWithdraw={(eventId) => run(client.withdrawMessage(id, eventId).then(refresh))}
        onRelease={() => run(client.releaseQueue(id).then(reload))}
      />
      <Composer
        client={client}
        isBusy={hasStream || isWaiting}
        onSend={(text, files) => run(send(text, files))}
        onStop={() => run(cancel())}
      />
    </main>
  );
}

/** A file that the service has, as a part of a message. */
function partOf({ id, filename, mime_type: mediaType }: StoredFile) {
  return {
    type: 'file' as const,
    mediaType,
    filename,
    url: `agent-session:${id}`,
    providerReference: { 'agent-session': id },
  };
}

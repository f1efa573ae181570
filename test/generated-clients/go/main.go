// Uses the client that oapi-codegen makes: a session, a message, its stream, an answer, and the history in pages.
// Prints what it saw as JSON.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"

	"generated/api"
)

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func check(err error) { must(0, err) }

// Returns the body of a success, or ends the program with what the service answered.
func body[T any](parsed *T, answered []byte) *T {
	if parsed == nil {
		check(fmt.Errorf("the service answered %s", answered))
	}
	return parsed
}

func main() {
	ctx := context.Background()
	server := os.Getenv("MCP_SERVER_ID")
	client := must(api.NewClientWithResponses(
		os.Getenv("BASE"),
		api.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", "Bearer "+os.Getenv("KEY"))
			return nil
		}),
	))

	var toolset api.SessionToolInput
	ask := api.McpDefaultConfigInput{PermissionPolicy: api.PermissionPolicyInput{Type: api.AlwaysAsk}}
	check(toolset.FromMcpToolsetInput(api.McpToolsetInput{McpServerId: server, DefaultConfig: &ask}))
	model := "scripted"
	created := must(client.CreateSessionWithResponse(ctx, nil, api.NewSession{
		ModelId:    &model,
		McpServers: &[]string{server},
		Tools:      &[]api.SessionToolInput{toolset},
	}))
	session := body(created.JSON201, created.Body)
	sent := must(client.SendMessageWithResponse(ctx, session.Id, nil, api.NewMessage{Content: "Go"}))
	message := body(sent.JSON201, sent.Body)

	streamed, answered := follow(ctx, client, session.Id)
	history := readHistory(ctx, client, session.Id)
	unknown := must(client.GetSessionWithResponse(ctx, "ses_unknown"))
	now := must(client.GetSessionWithResponse(ctx, session.Id))
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"turn":     message.TurnId,
		"streamed": streamed,
		"answered": answered,
		"history":  history,
		"status":   body(now.JSON200, now.Body).Status,
		"error":    body(unknown.JSON404, unknown.Body).Error.Type,
	}))
}

// Reads the stream to its end and allows each call that waits. The generator has no streams: it returns the response.
func follow(ctx context.Context, client *api.ClientWithResponses, session string) (streamed, answered []string) {
	response := must(client.StreamEvents(ctx, session, nil))
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		if !isData {
			continue
		}
		var event api.StreamEvent
		check(json.Unmarshal([]byte(data), &event))
		streamed = append(streamed, must(event.Discriminator()))
		if waiting, isWaiting := must(event.ValueByDiscriminator()).(api.AgentRequiresActionEvent); isWaiting {
			answered = append(answered, allow(ctx, client, session, waiting)...)
		}
	}
	check(lines.Err())
	return streamed, answered
}

func allow(
	ctx context.Context, client *api.ClientWithResponses, session string, waiting api.AgentRequiresActionEvent,
) (stored []string) {
	answers := make([]api.Answer, len(waiting.RequiredActions))
	for index, action := range waiting.RequiredActions {
		call := must(action.AsToolConfirmationAction())
		check(answers[index].FromToolConfirmationAnswer(
			api.ToolConfirmationAnswer{ToolUseId: call.ToolUseId, Result: api.ConfirmationResultAllow},
		))
	}
	sent := must(client.SendAnswersWithResponse(ctx, session, nil, api.NewAnswers{Events: answers}))
	for _, event := range body(sent.JSON201, sent.Body).Items {
		stored = append(stored, must(event.Discriminator()))
	}
	return stored
}

func readHistory(ctx context.Context, client *api.ClientWithResponses, session string) (types []string) {
	limit := 2
	for query := (api.ListEventsParams{Limit: &limit}); ; {
		listed := must(client.ListEventsWithResponse(ctx, session, &query))
		page := body(listed.JSON200, listed.Body)
		for _, event := range page.Items {
			types = append(types, must(event.Discriminator()))
		}
		if page.Meta.NextCursor == nil {
			return types
		}
		query.Cursor = page.Meta.NextCursor
	}
}

// A server with 2,000 tools and forms, made with the MCP SDK for Go. The port is the first argument; the second is the address of an
// authorization server, which says at /verify whether a token is valid.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

type thing struct {
	ID    string `json:"id" jsonschema:"the id of the thing"`
	Limit int    `json:"limit,omitempty"`
}

func main() {
	address, issuer := "127.0.0.1:"+os.Args[1], os.Args[2]
	base := "http://" + address
	server := mcp.NewServer(&mcp.Implementation{Name: "go-sdk", Version: "1"}, &mcp.ServerOptions{PageSize: 500})
	mcp.AddTool(server, &mcp.Tool{Name: "ask", Description: "Asks for a city."},
		func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			answer, err := req.Session.Elicit(ctx, &mcp.ElicitParams{
				Message: "Where to?",
				RequestedSchema: &jsonschema.Schema{
					Type:       "object",
					Properties: map[string]*jsonschema.Schema{"city": {Type: "string"}},
					Required:   []string{"city"},
				},
			})
			if err != nil {
				return nil, nil, err
			}
			text := fmt.Sprintf("To %v", answer.Content["city"])
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
	for number := 1; number < 2000; number++ {
		tool := &mcp.Tool{Name: fmt.Sprintf("tool_%d", number), Description: fmt.Sprintf("Does thing %d.", number)}
		mcp.AddTool(server, tool, func(_ context.Context, _ *mcp.CallToolRequest, in thing) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.ID}}}, nil, nil
		})
	}
	verify := func(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		request, err := http.NewRequestWithContext(ctx, "GET", issuer+"/verify", nil)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{Expiration: time.Now().Add(time.Hour)}, nil
	}
	metadata := &oauthex.ProtectedResourceMetadata{Resource: base + "/mcp", AuthorizationServers: []string{issuer}}
	guard := auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{ResourceMetadataURL: base + "/metadata"})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	http.Handle("/metadata", auth.ProtectedResourceMetadataHandler(metadata))
	http.Handle("/mcp", guard(handler))
	log.Print("running on " + address)
	log.Fatal(http.ListenAndServe(address, nil))
}

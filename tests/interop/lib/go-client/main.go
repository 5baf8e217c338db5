// SPDX-License-Identifier: Apache-2.0

// A client on the official Go SDK does the steps of a plan and prints one JSON line a step, as ts-client.mjs does.
// usage: go-client TARGET PLAN MODE   (see ts-client.mjs)
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type object = map[string]any

var (
	lock                     sync.Mutex
	logs, asked, told, steps = []any{}, []any{}, []any{}, []any{}
	seen                     []time.Time
	answers                  = object{"ok": true, "age": 7, "score": 1.5, "verified": false}
)

func note(list *[]any, what any) {
	lock.Lock()
	defer lock.Unlock()
	*list = append(*list, what)
}

func until(list *[]any, count int) {
	for turn := 0; turn < 1000; turn++ {
		lock.Lock()
		enough := len(*list) >= count
		lock.Unlock()
		if enough {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func sample(_ context.Context, request *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	note(&asked, "sampling/createMessage")
	words := fmt.Sprintf("sampled %d", len(request.Params.Messages))
	return &mcp.CreateMessageResult{Role: "assistant", Model: "none", Content: &mcp.TextContent{Text: words}}, nil
}

func elicit(_ context.Context, request *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	note(&asked, "elicitation/create")
	content := object{}
	schema, _ := request.Params.RequestedSchema.(object)
	required, _ := schema["required"].([]any)
	for _, key := range required {
		content[key.(string)] = "given"
		if answer, known := answers[key.(string)]; known {
			content[key.(string)] = answer
		}
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}, nil
}

func client() *mcp.Client {
	made := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1.0.0"}, &mcp.ClientOptions{
		CreateMessageHandler: sample, ElicitationHandler: elicit,
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) { note(&logs, r.Params.Data) },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			lock.Lock()
			defer lock.Unlock()
			seen, steps = append(seen, time.Now()), append(steps, r.Params.Progress)
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { note(&told, r.Params.URI) },
	})
	made.AddRoots(&mcp.Root{URI: "file:///somewhere", Name: "somewhere"})
	return made
}

func transport(target string) mcp.Transport {
	var words []string
	if json.Unmarshal([]byte(target), &words) == nil {
		command := exec.Command(words[0], words[1:]...)
		command.Stderr = os.Stderr
		return &mcp.CommandTransport{Command: command}
	}
	return &mcp.StreamableClientTransport{Endpoint: target}
}

func call(ctx context.Context, session *mcp.ClientSession, words []any) (*mcp.CallToolResult, error) {
	return session.CallTool(ctx, &mcp.CallToolParams{Name: words[0].(string), Arguments: words[1]})
}

func forgetHeard() {
	lock.Lock()
	defer lock.Unlock()
	seen, steps = nil, []any{}
}

func callHeard(ctx context.Context, session *mcp.ClientSession, words []any) (*mcp.CallToolResult, error) {
	params := &mcp.CallToolParams{Name: words[0].(string), Arguments: words[1]}
	params.SetProgressToken("progress")
	return session.CallTool(ctx, params)
}

func progress(ctx context.Context, session *mcp.ClientSession, words []any) (any, error) {
	for turn := 1; ; turn++ { // as ts-client.mjs does
		forgetHeard()
		result, err := callHeard(ctx, session, words)
		// The SDK hands notifications to another goroutine than the one that waits for the answer: the last of the three may be told after it.
		until(&steps, 3)
		lock.Lock()
		early := len(seen) > 0 && time.Since(seen[0]) > 60*time.Millisecond
		told := steps
		lock.Unlock()
		if early || turn == 5 {
			return []any{result, told, early}, err
		}
	}
}

// cancel gives a call up once the server has it, or after so many seconds.
func cancel(ctx context.Context, session *mcp.ClientSession, words []any) (any, error) {
	short, done := context.WithCancel(ctx)
	defer done()
	forgetHeard()
	begin := callHeard
	if len(words) > 2 {
		time.AfterFunc(time.Duration(words[2].(float64)*float64(time.Second)), done)
		begin = call
	} else {
		go func() {
			until(&steps, 1)
			done()
		}()
	}
	if _, err := begin(short, session, words); err != nil {
		return "cancelled", nil
	}
	return "answered", nil
}

func many(ctx context.Context, session *mcp.ClientSession, words []any) (any, error) {
	results := make([]*mcp.CallToolResult, int(words[2].(float64)))
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() {
			results[i], _ = call(ctx, session, []any{words[0], object{"message": fmt.Sprintf("m%d", i)}})
		})
	}
	all.Wait()
	return results, nil
}

func step(ctx context.Context, session *mcp.ClientSession, name string, words []any) (any, error) {
	word := func(i int) string { return words[i].(string) }
	switch name {
	case "server":
		return session.InitializeResult().ServerInfo.Name, nil
	case "revision":
		return session.InitializeResult().ProtocolVersion, nil
	case "ping":
		return "pong", session.Ping(ctx, nil)
	case "tools":
		return session.ListTools(ctx, nil)
	case "call":
		return call(ctx, session, words)
	case "progress":
		return progress(ctx, session, words)
	case "cancel":
		return cancel(ctx, session, words)
	case "many":
		return many(ctx, session, words)
	case "size":
		result, err := call(ctx, session, words)
		if err != nil {
			return nil, err
		}
		return len(result.Content[0].(*mcp.TextContent).Text), nil
	case "resources":
		return session.ListResources(ctx, nil)
	case "templates":
		return session.ListResourceTemplates(ctx, nil)
	case "read":
		return session.ReadResource(ctx, &mcp.ReadResourceParams{URI: word(0)})
	case "subscribe":
		return "subscribed", session.Subscribe(ctx, &mcp.SubscribeParams{URI: word(0)})
	case "listen":
		if err := session.Subscribe(ctx, &mcp.SubscribeParams{URI: word(0)}); err != nil {
			return nil, err
		}
		_, err := call(ctx, session, []any{"test_trigger_resource_update", object{}})
		until(&told, 1)
		return told, err
	case "prompts":
		return session.ListPrompts(ctx, nil)
	case "prompt":
		arguments := map[string]string{}
		for key, value := range words[1].(object) {
			arguments[key] = value.(string)
		}
		return session.GetPrompt(ctx, &mcp.GetPromptParams{Name: word(0), Arguments: arguments})
	case "complete":
		return session.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: word(0)},
			Argument: mcp.CompleteParamsArgument{Name: word(1), Value: word(2)}})
	case "level":
		return "set", session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: mcp.LoggingLevel(word(0))})
	case "logs":
		until(&logs, int(words[0].(float64)))
		return logs, nil
	case "asked":
		return asked, nil
	}
	return nil, fmt.Errorf("no such step")
}

func say(name, value any) {
	line, err := json.Marshal(object{"step": name, "value": value})
	if err != nil {
		line, _ = json.Marshal(object{"step": name, "value": err.Error()})
	}
	fmt.Println(string(line))
}

func main() {
	var plan [][]any
	if err := json.Unmarshal([]byte(os.Args[2]), &plan); err != nil {
		panic(err)
	}
	options := &mcp.ClientSessionOptions{}
	if mode := os.Args[3]; mode == "legacy" {
		options.ProtocolVersion = "2025-11-25"
	} else if strings.HasPrefix(mode, "2") {
		options.ProtocolVersion = mode
	}
	session, err := client().Connect(context.Background(), transport(os.Args[1]), options)
	if err != nil {
		panic(err)
	}
	for _, words := range plan {
		ctx, done := context.WithTimeout(context.Background(), time.Minute)
		value, err := step(ctx, session, words[0].(string), words[1:])
		if err != nil {
			value = err.Error()
		}
		done()
		say(words, value)
	}
	session.Close()
	say("end", true)
}

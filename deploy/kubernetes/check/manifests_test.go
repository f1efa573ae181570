// Creates everything in deploy/kubernetes on a real API server of Kubernetes, with the definitions of the Gateway API, KEDA and
// agent-sandbox installed, and a pod from each template: what the server refuses here, a cluster refuses too. Then it runs commands
// in sandboxes over that server, with the rights of the workers. Run by hand: npm run check -- manifests
package manifests

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	authentication "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app/testing"
	"sigs.k8s.io/yaml"
)

// Google does not publish the definitions of these.
var unpublished = map[string]bool{"networking.gke.io": true, "monitoring.googleapis.com": true}

var definitions = map[string]string{
	"sigs.k8s.io/gateway-api@v1.3.0":      "config/crd/standard/*.yaml",
	"github.com/kedacore/keda/v2@v2.17.2": "config/crd/bases/keda.sh_*.yaml",
	"sigs.k8s.io/agent-sandbox@v0.5.6":    "k8s/crds/*.yaml",
}

// The API server writes thousands of lines of its own.
func TestMain(m *testing.M) {
	os.Stderr, _ = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	os.Exit(m.Run())
}

func TestManifests(t *testing.T) {
	storage := storagebackend.NewDefaultConfig("manifests", nil)
	storage.Transport.ServerList = []string{startEtcd(t)}
	server := apiserver.StartTestServerOrDie(t, nil, []string{"--authorization-mode=RBAC"}, storage)
	defer server.TearDownFn()
	api := &cluster{
		client: dynamic.NewForConfigOrDie(server.ClientConfig),
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(
			memory.NewMemCacheClient(discovery.NewDiscoveryClientForConfigOrDie(server.ClientConfig))),
	}
	for module, pattern := range definitions {
		for _, object := range read(t, filepath.Join(download(t, module), pattern)) {
			if err := api.create(object); err != nil {
				t.Fatal(object.GetName(), err)
			}
		}
	}

	// The cluster has it: GKE makes it.
	gvisor := &unstructured.Unstructured{Object: map[string]any{"handler": "runsc"}}
	gvisor.SetAPIVersion("node.k8s.io/v1")
	gvisor.SetKind("RuntimeClass")
	gvisor.SetName("gvisor")
	if err := api.create(gvisor); err != nil {
		t.Fatal(err)
	}

	objects := read(t, "../*.yaml")
	// settings.yaml has the namespace and the accounts of the pods.
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return order(a) - order(b) })
	for _, object := range objects {
		name := object.GetKind() + " " + object.GetName() + object.GetGenerateName()
		t.Run(name, func(t *testing.T) {
			if unpublished[object.GroupVersionKind().Group] {
				t.Skip("its definition is not published")
			}
			if err := api.create(object); err != nil {
				t.Error(err)
			}
			if object.GetKind() == "ResourceQuota" {
				api.countNothing(t, object)
			}
			template, found, _ := unstructured.NestedMap(object.Object, "spec", "template")
			if !found {
				template, found, _ = unstructured.NestedMap(object.Object, "spec", "podTemplate")
			}
			if !found {
				return
			}
			if object.GetNamespace() == "agent-sandboxes" {
				// The controllers of a cluster make it.
				account := &unstructured.Unstructured{Object: map[string]any{}}
				account.SetAPIVersion("v1")
				account.SetKind("ServiceAccount")
				account.SetName("default")
				account.SetNamespace(object.GetNamespace())
				if err := api.create(account); err != nil {
					t.Error(err)
				}
			}
			pod := &unstructured.Unstructured{Object: template}
			pod.SetAPIVersion("v1")
			pod.SetKind("Pod")
			pod.SetNamespace(object.GetNamespace())
			pod.SetGenerateName("check-")
			if err := api.create(pod); err != nil {
				t.Error("its pod: ", err)
			}
		})
	}

	t.Run("commands in sandboxes", func(t *testing.T) {
		clients := kubernetes.NewForConfigOrDie(server.ClientConfig)
		request := &authentication.TokenRequest{}
		token, err := clients.CoreV1().ServiceAccounts("agent-session").CreateToken(
			context.Background(), "worker", request, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		// The server's own certificate with its authority: the one of ClientConfig is for connections from within.
		certificate := server.ServerOpts.SecureServing.ServerCert
		ca := filepath.Join(certificate.CertDirectory, certificate.PairName+".crt")
		command := exec.Command("npx", "mocha", "--no-parallel", "bench/hand/agent-sandbox.ts")
		command.Dir = "../../.."
		command.Env = append(os.Environ(), "CLUSTER_URL="+server.ClientConfig.Host, "CLUSTER_CA="+ca, "NODE_EXTRA_CA_CERTS="+ca,
			"WORKER_TOKEN="+token.Status.Token, "CONTROLLER_TOKEN="+server.ClientConfig.BearerToken)
		output, err := command.CombinedOutput()
		t.Logf("%s", output)
		if err != nil {
			t.Error(err)
		}
	})
}

// The controllers of a cluster count what a quota limits; until then the server refuses.
func (c *cluster) countNothing(t *testing.T, quota *unstructured.Unstructured) {
	hard, _, _ := unstructured.NestedStringMap(quota.Object, "spec", "hard")
	used := map[string]any{}
	for name := range hard {
		used[name] = "0"
	}
	limits, _, _ := unstructured.NestedMap(quota.Object, "spec", "hard")
	resource := c.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}).Namespace(quota.GetNamespace())
	stored, err := resource.Get(context.Background(), quota.GetName(), metav1.GetOptions{})
	if err == nil {
		stored.Object["status"] = map[string]any{"hard": limits, "used": used}
		_, err = resource.UpdateStatus(context.Background(), stored, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Error(err)
	}
}

type cluster struct {
	client dynamic.Interface
	mapper *restmapper.DeferredDiscoveryRESTMapper
}

func order(object *unstructured.Unstructured) int {
	if index := slices.Index([]string{"Namespace", "ServiceAccount"}, object.GetKind()); index >= 0 {
		return index
	}
	return 2
}

func (c *cluster) create(object *unstructured.Unstructured) error {
	kind := object.GroupVersionKind()
	var mapping *meta.RESTMapping
	var err error
	// A definition is served a moment after it was created.
	for wait := 0; wait < 100; wait++ {
		if mapping, err = c.mapper.RESTMapping(kind.GroupKind(), kind.Version); !meta.IsNoMatchError(err) {
			break
		}
		time.Sleep(100 * time.Millisecond)
		c.mapper.Reset()
	}
	if err != nil {
		return err
	}
	var resource dynamic.ResourceInterface = c.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		resource = c.client.Resource(mapping.Resource).Namespace(object.GetNamespace())
	}
	_, err = resource.Create(context.Background(), object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	return err
}

func read(t *testing.T, pattern string) (objects []*unstructured.Unstructured) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatal("no file at ", pattern, err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// What roll-workers.sh fills in.
		content = bytes.ReplaceAll(content, []byte("BUILD"), []byte("1"))
		documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			object := &unstructured.Unstructured{}
			if err == nil {
				err = yaml.Unmarshal(document, &object.Object)
			}
			if err != nil {
				t.Fatal(path, err)
			}
			if len(object.Object) > 0 {
				objects = append(objects, object)
			}
		}
	}
	return objects
}

// Downloads a module from Go's proxy and returns its folder. AGENT_SANDBOX names a checkout where a proxy does not have that one.
func download(t *testing.T, module string) string {
	if folder := os.Getenv("AGENT_SANDBOX"); folder != "" && strings.HasPrefix(module, "sigs.k8s.io/agent-sandbox@") {
		return folder
	}
	output, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err != nil {
		t.Fatal(module, err)
	}
	var answer struct{ Dir string }
	if err := json.Unmarshal(output, &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Dir
}

func startEtcd(t *testing.T) string {
	config := embed.NewConfig()
	config.Dir = t.TempDir()
	config.LogLevel = "error"
	local := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.ListenClientUrls, config.ListenPeerUrls = local, local
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	<-etcd.Server.ReadyNotify()
	return "http://" + etcd.Clients[0].Addr().String()
}

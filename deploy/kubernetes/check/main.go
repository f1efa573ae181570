// Decodes the manifests strictly into the Go types of Kubernetes, the Gateway API and KEDA: a field that does not exist,
// or has another type, is an error. Run by hand: go run . ../*.yaml
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	keda "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

var kinds = map[string]func() any{
	"v1/Namespace":                           func() any { return &core.Namespace{} },
	"v1/ConfigMap":                           func() any { return &core.ConfigMap{} },
	"v1/Service":                             func() any { return &core.Service{} },
	"v1/ServiceAccount":                      func() any { return &core.ServiceAccount{} },
	"apps/v1/Deployment":                     func() any { return &apps.Deployment{} },
	"batch/v1/Job":                           func() any { return &batch.Job{} },
	"policy/v1/PodDisruptionBudget":          func() any { return &policy.PodDisruptionBudget{} },
	"networking.k8s.io/v1/NetworkPolicy":     func() any { return &networking.NetworkPolicy{} },
	"gateway.networking.k8s.io/v1/Gateway":   func() any { return &gateway.Gateway{} },
	"gateway.networking.k8s.io/v1/HTTPRoute": func() any { return &gateway.HTTPRoute{} },
	"keda.sh/v1alpha1/ScaledObject":          func() any { return &keda.ScaledObject{} },
	"keda.sh/v1alpha1/TriggerAuthentication": func() any { return &keda.TriggerAuthentication{} },
}

// Google publishes no Go types of these.
var unpublished = map[string]bool{
	"networking.gke.io/v1/GCPBackendPolicy":      true,
	"networking.gke.io/v1/HealthCheckPolicy":     true,
	"monitoring.googleapis.com/v1/PodMonitoring": true,
}

var errUnchecked = errors.New("not checked: its types are not published")

func check(document []byte) (string, error) {
	var meta struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ObjectMeta `json:"metadata"`
	}
	if err := yaml.Unmarshal(document, &meta); err != nil {
		return "", err
	}
	kind := meta.APIVersion + "/" + meta.Kind
	name := kind + " " + meta.Metadata.Name + meta.Metadata.GenerateName
	if unpublished[kind] {
		return name, errUnchecked
	}
	target, known := kinds[kind]
	if !known {
		return name, errors.New("no type for this kind")
	}
	return name, yaml.UnmarshalStrict(document, target())
}

func main() {
	failed := false
	for _, path := range os.Args[1:] {
		content, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
		for {
			document, err := reader.Read()
			if err == io.EOF {
				break
			}
			name, err := check(document)
			verdict := "ok"
			if errors.Is(err, errUnchecked) {
				verdict = err.Error()
			} else if err != nil {
				verdict, failed = "FAIL  "+err.Error(), true
			}
			fmt.Printf("%s  %s  %s\n", path, name, verdict)
		}
	}
	if failed {
		os.Exit(1)
	}
}

// Package charts renders the Helm chart as helm does and reads what comes out as the Kubernetes API server would: strictly.
package charts

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

const chartDir = "../../deploy/helm/emend"

// scaledObject is KEDA's, as far as the chart uses it, with the metadata of its nats-jetstream scaler.
type scaledObject struct {
	APIVersion string
	Kind       string
	Metadata   map[string]any
	Spec       struct {
		ScaleTargetRef                                                    struct{ Name string }
		MinReplicaCount, MaxReplicaCount, PollingInterval, CooldownPeriod int
		Triggers                                                          []struct {
			Type     string
			Metadata struct{ NatsServerMonitoringEndpoint, Account, Stream, Consumer, LagThreshold string }
		}
	}
}

// monitored are the resources of the Prometheus operator, as far as the chart uses them.
type monitored struct {
	APIVersion string
	Kind       string
	Metadata   map[string]any
	Spec       struct {
		Selector  map[string]any
		Endpoints []struct{ Port, Path, Interval string }
		Groups    []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
}

// kinds is what each kind is read as.
var kinds = map[string]func() any{
	"apps/v1 Deployment": func() any { return new(appsv1.Deployment) }, "v1 ConfigMap": func() any { return new(corev1.ConfigMap) },
	"v1 Service": func() any { return new(corev1.Service) }, "v1 ServiceAccount": func() any { return new(corev1.ServiceAccount) },
	"policy/v1 PodDisruptionBudget": func() any { return new(policyv1.PodDisruptionBudget) }, "networking.k8s.io/v1 NetworkPolicy": func() any { return new(networkingv1.NetworkPolicy) },
	"keda.sh/v1alpha1 ScaledObject": func() any { return new(scaledObject) }, "monitoring.coreos.com/v1 ServiceMonitor": func() any { return new(monitored) },
	"monitoring.coreos.com/v1 PrometheusRule": func() any { return new(monitored) },
}

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// template is `helm template RELEASE CHART --values VALUES`: the objects as texts, in order of their files.
func template(t *testing.T, release, values string) ([]string, error) {
	t.Helper()
	var given map[string]any
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	c := load(t)
	all, err := chartutil.ToRenderValues(c, given, chartutil.ReleaseOptions{Name: release, Namespace: "default"}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for doc := range strings.SplitSeq(files[name], "\n---\n") {
			if doc = strings.TrimSpace(doc); doc != "" && !strings.HasSuffix(name, ".tpl") {
				out = append(out, doc)
			}
		}
	}
	return out, nil
}

// render is template with each object read, by its kind.
func render(t *testing.T, values string) (map[string]any, error) {
	t.Helper()
	docs, err := template(t, "worker", values)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, doc := range docs {
		kind, v, err := strictly(doc)
		if err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		out[kind] = v
	}
	return out, nil
}

func strictly(doc string) (string, any, error) {
	var head struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
		return "", nil, err
	}
	into, ok := kinds[head.APIVersion+" "+head.Kind]
	if !ok {
		return "", nil, fmt.Errorf("unknown kind %s %s", head.APIVersion, head.Kind)
	}
	v := into()
	return head.Kind, v, yaml.UnmarshalStrict([]byte(doc), v)
}

const files = "files: {emend.yaml: 'backends: {}', prompts/summary@1.yaml: 'profile: fast'}\n"

const everything = files + `
image: {repository: registry.example.org/emend, tag: 1.2.3}
imagePullSecrets: [{name: pull}]
nats: {url: "nats://nats.example.org:4222", credsSecret: nats-user}
envFromSecrets: [model-keys]
env: [{name: LOG, value: "1"}]
http: {port: 8080, tokenSecret: page, content: true, hosts: [emend.example.org]}
serviceMonitor: {enabled: true, labels: {release: prometheus}}
prometheusRule: {enabled: true, labels: {release: prometheus}}
networkPolicy: {enabled: true}
keda: {enabled: true, space: team-b, triggers: [{backend: openai, queue: default, lag: 64}, {backend: openai, queue: team-a, lag: 8}]}
nodeSelector: {disk: ssd}
tolerations: [{key: spot, operator: Exists}]
podAnnotations: {a: b}
podLabels: {team: x}
serviceAccount: {annotations: {a: b}}
`

func TestTheChartRendersWhatKubernetesReads(t *testing.T) {
	for name, c := range map[string]struct {
		values, kinds string
	}{
		"least":      {files, "ConfigMap Deployment PodDisruptionBudget Service ServiceAccount"},
		"catalog":    {"catalog: true", "Deployment PodDisruptionBudget Service ServiceAccount"},
		"bare":       {"catalog: true\npodDisruptionBudget: {enabled: false}\nserviceAccount: {create: false}\ntopologySpread: false", "Deployment Service"},
		"everything": {everything, "ConfigMap Deployment NetworkPolicy PodDisruptionBudget PrometheusRule ScaledObject Service ServiceAccount ServiceMonitor"},
	} {
		got, err := render(t, c.values)
		if all := strings.Join(slices.Sorted(maps.Keys(got)), " "); err != nil || all != c.kinds {
			t.Errorf("%s: %v: %s, want %s", name, err, all, c.kinds)
		}
	}
}

func TestTheWorkerRunsHardened(t *testing.T) {
	got, err := render(t, everything)
	if err != nil {
		t.Fatal(err)
	}
	d := got["Deployment"].(*appsv1.Deployment)
	pod, c := d.Spec.Template.Spec, d.Spec.Template.Spec.Containers[0]
	if s := c.SecurityContext; !*pod.SecurityContext.RunAsNonRoot || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || s.Capabilities.Drop[0] != "ALL" ||
		pod.SecurityContext.SeccompProfile.Type != "RuntimeDefault" || *pod.AutomountServiceAccountToken {
		t.Errorf("%+v %+v", pod.SecurityContext, s)
	}
	if *pod.TerminationGracePeriodSeconds <= 30 {
		t.Error("a pod is killed before it has drained")
	}
	if d.Spec.Replicas != nil {
		t.Error("the chart and the scaler would both set the number of workers")
	}
	want := "serve --dir=/work --http=:8080 --worker-id=$(POD_NAME) --http-token-file=/run/secrets/emend/page/token --http-content --http-host=emend.example.org --creds=/run/secrets/emend/nats/user.creds"
	if args := strings.Join(c.Args, " "); args != want {
		t.Errorf("args %s", args)
	}
	items := pod.Volumes[0].ConfigMap.Items
	data := got["ConfigMap"].(*corev1.ConfigMap).Data
	for _, i := range items {
		if data[i.Key] == "" || (i.Path != "emend.yaml" && i.Path != "prompts/summary@1.yaml") {
			t.Errorf("%+v", i)
		}
	}
	if len(items) != 2 {
		t.Errorf("%d files", len(items))
	}
	if s := got["ScaledObject"].(*scaledObject); s.Spec.Triggers[1].Metadata.Stream != "TEAM_B_RUNS" || s.Spec.Triggers[1].Metadata.Consumer != "openai__team-a" || s.Spec.ScaleTargetRef.Name != d.Name {
		t.Errorf("%+v", s.Spec)
	}
	if r := got["PrometheusRule"].(*monitored); len(r.Spec.Groups) != 1 || len(r.Spec.Groups[0].Rules) < 5 {
		t.Errorf("%+v", r.Spec)
	}
}

func TestBadValuesAreRefused(t *testing.T) {
	for values, says := range map[string]string{
		"":                              "the workers need definitions",
		"files: {a.yaml: x}":            "emend.yaml is missing",
		files + "catalog: true":         "not both",
		files + "http: {content: true}": "give http.tokenSecret",
		files + "replica: 3":            "replica",
		files + "replicas: -1":          "replicas",
		files + "keda: {triggers: []}":  "triggers",
		files + "keda: {space: Team B}": "space",
		files + "http: {port: 0}":       "port",
	} {
		if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", values, err, says)
		}
	}
}

var update = flag.Bool("update", false, "write the manifests anew")

// The plain manifests, for those who use no Helm, are what the chart makes of these values.
func TestManifestsAreCurrent(t *testing.T) {
	const path = "../../deploy/kubernetes/emend.yaml"
	docs, err := template(t, "emend", "catalog: true\nenvFromSecrets: [emend-keys]\nnats: {credsSecret: emend-nats}\n")
	if err != nil {
		t.Fatal(err)
	}
	want := "# Made from the chart: `make manifests`. The workers follow the catalogs that `emend apply` stores; the Secret emend-keys holds the\n" +
		"# environment that emend.yaml names, emend-nats the file user.creds.\n" + strings.ReplaceAll(strings.Join(docs, "\n---\n"), "managed-by: Helm", "managed-by: kubectl") + "\n"
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil || string(have) != want {
		t.Errorf("%s is not what the chart makes (%v): make manifests", path, err)
	}
}

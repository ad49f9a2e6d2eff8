"""The files of the page about clusters are what their tools take, as far as that can be told without them."""

import json
import re
import subprocess
from pathlib import Path

import jsonschema
import ray
import yaml

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "cluster.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_file_for_ray_up_follows_its_schema() -> None:
    schema = json.loads((Path(ray.__file__).parent / "autoscaler" / "ray-schema.json").read_text(encoding="utf-8"))
    cluster = yaml.safe_load(blocks("yaml")[0])
    jsonschema.validate(cluster, schema)
    assert cluster["head_node_type"] in cluster["available_node_types"]


def test_the_manifest_is_that_of_a_ray_cluster() -> None:
    cluster = yaml.safe_load(blocks("yaml")[1])
    assert (cluster["apiVersion"], cluster["kind"]) == ("ray.io/v1", "RayCluster")
    groups = [cluster["spec"]["headGroupSpec"], *cluster["spec"]["workerGroupSpecs"]]
    assert all(group["template"]["spec"]["containers"][0]["image"] for group in groups)
    assert all(isinstance(value, str) for group in groups for value in group["rayStartParams"].values())


def test_the_script_for_slurm_is_a_script() -> None:
    script = next(block for block in blocks("sh") if "#SBATCH" in block)
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0

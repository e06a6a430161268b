#!/bin/sh
# Train a small Meena from raw data, in three stages: real conversations, generated talk that stays with a subject, and
# such talk with lines of people that no rule expects.
#   scripts/shipped_meena.sh DATA OUTPUT
# DATA has self_dialogue.jsonl.gz and topical_chat_train_part.jsonl.gz (docs/meena.md, "The shipped model").
# Finished stages are kept: run it again to continue. FIRST=FOLDER begins with a model instead of stage one.
set -eu
data=$1 output=$2
python=${PYTHON:-.venv/bin/python}
meena="$python -m chatbots meena"
mkdir -p "$output"

checked() { echo "$2  $1" | sha256sum --check --quiet; }
checked "$data/self_dialogue.jsonl.gz" 61a15d6adecfb711af2935e2e6d89283b3e1f7540979818e50210b2c162b6a28
checked "$data/topical_chat_train_part.jsonl.gz" 56a452a20ca5b5475c96f7fd1f20ee86e58d8c958160892539c3069381a85849

wheel=$output/chitchat_dataset-0.9.0-py3-none-any.whl
[ -e "$wheel" ] || "$python" -m pip download --quiet --no-deps --dest "$output" chitchat-dataset==0.9.0
checked "$wheel" 7bf89f36645e2d5ec87d53370c8e851b5a688479c7beb7079cb4c87fc5acea3e

first=${FIRST:-$output/first}
if [ ! -e "$first/model.safetensors" ]; then
    $meena corpus --input "$data/self_dialogue.jsonl.gz" "$data/topical_chat_train_part.jsonl.gz" \
        --output "$output/first-corpus" --vocabulary 4096
    $meena train --corpus "$output/first-corpus" --output "$output/first-run" --preset small --decoder-blocks 3 \
        --context-length 64 --response-length 64 --dropout 0 --optimizer adamw --learning-rate 0.0015 \
        --warmup 300 --positions 4096 --steps 6000
    $meena export --checkpoint "$output/first-run/step-0006000" --output "$first"
fi

talk() {
    name=$1
    shift
    [ -e "$output/$name.jsonl.gz" ] || $meena everyday --output "$output/$name.jsonl.gz" "$@"
}
corpus() {
    name=$1
    shift
    $meena corpus --input "$@" --output "$output/$name" --tokenizer "$first/tokenizer.model" --vocabulary 4096 \
        --most-repeats 1000000 --heldout 0.01
}
train() {
    $meena train --corpus "$output/$1-corpus" --output "$output/$1-run" --begin-with "$2" --preset small \
        --decoder-blocks 3 --context-length 48 --response-length 32 --dropout 0 --optimizer adamw \
        --learning-rate 0.0012 --warmup 50 --positions 1536 --checkpoint-every 100 --validate-every 5000 \
        --steps "$3"
}
talk chitchat --chitchat "$wheel"
people="$output/chitchat.jsonl.gz $data/self_dialogue.jsonl.gz"

talk threads --threads --conversations 70000 --seed 2
talk everyday --conversations 6000
talk listening --listening --conversations 12000 --overheard $people
corpus second-corpus "$output/threads.jsonl.gz" "$output/everyday.jsonl.gz" "$output/listening.jsonl.gz"
# The rate falls to zero three times; the held-out pairs are measured at the end of each time.
for steps in 1500 2800 6500; do
    grep -qs "^$steps," "$output/second-run/heldout.csv" || train second "$first" "$steps"
done
second=$output/second
[ -e "$second/model.safetensors" ] || $meena export --checkpoint "$output/second-run/step-0006500" --output "$second"

talk interrupted --threads --conversations 25000 --seed 2 --overheard $people
talk less-everyday --conversations 3000
talk more-listening --listening --conversations 70000 --overheard $people
corpus third-corpus "$output/interrupted.jsonl.gz" "$output/less-everyday.jsonl.gz" \
    "$output/more-listening.jsonl.gz"
train third "$second" 3000
$meena export --checkpoint "$output/third-run/step-0003000" --output "$output/model"
$meena perplexity --checkpoint "$output/model" --data "$output/third-corpus/heldout"

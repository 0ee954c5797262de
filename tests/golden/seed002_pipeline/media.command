# Section 4.2: documents and sounds become the parts that each provider has for them.
for model in claude-sonnet-4-5 gemini-2.5-pro; do
  ebb pipeline media.json --asset-root files --model $model --encoding bytes4
done

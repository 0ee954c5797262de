# Section 3.1: what the model cannot hear is transcribed, asked for once, and the words stand in the message.
for run in first second; do
  ebb pipeline media.json --asset-root files --model claude-sonnet-4-5 --encoding bytes4 -q --transcripts $tmp/kept \
    --transcribe-command "cat > /dev/null; echo asked >> $tmp/asked; echo 'the gate is open'"
done
cat $tmp/asked

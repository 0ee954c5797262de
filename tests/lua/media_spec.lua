--- Media types: by first bytes, by name, by what was said, and which wins.

dofile "tests/lua/helper.lua"
local media = require "ebb.support.media"

describe("a media type", function()
  local files = {
    { "\137PNG\r\n\26\nrest", "image/png" }, { "\255\216\255\224rest", "image/jpeg" }, { "GIF87a", "image/gif" },
    { "GIF89a", "image/gif" }, { "RIFF\1\2\3\4WEBPVP8 ", "image/webp" }, { "RIFF\1\2\3\4WAVEfmt ", "audio/wav" },
    { "RIFF\1\2\3\4AVI LIST", nil }, { "%PDF-1.7", "application/pdf" }, { "ID3\4\0\0", "audio/mpeg" },
    { "ID3 tags are old", nil }, { "ID3", nil }, { "\255\251\144\0", "audio/mpeg" }, { "\255\243\64\0", "audio/mpeg" },
    { "\255\241\80\128", "audio/aac" }, { "\255\254a\0", nil }, { "\255\251\240\0", nil }, { "\255", nil },
    { "OggS\0\2" .. ("\0"):rep(22) .. "\1vorbis", "audio/ogg" },
    { "OggS\0\2" .. ("\0"):rep(22) .. "\128theora", "video/ogg" },
    { "fLaC\0", "audio/flac" }, { "\0\0\0\24ftypmp42", "video/mp4" }, { "\0\0\0\24ftypisom", "video/mp4" },
    { "\0\0\0\24ftypM4A ", "audio/mp4" }, { "\0\0\0\24ftypqt  ", "video/quicktime" },
    { "\0\0\0\24ftypheic", "image/heic" }, { "\26\69\223\163\1\66\130\132webm", "video/webm" },
    { "\26\69\223\163\1matroska", "video/x-matroska" }, { "PK\3\4", "application/zip" },
    { "\31\139\8", "application/gzip" }, { "plain text", nil }, { "", nil }, { "\137PN", nil },
  }
  for _, file in ipairs(files) do
    it(("of %q"):format(file[1]:sub(1, 16)), function() assert.equal(file[2], media.of_bytes(file[1])) end)
  end

  it("is told by the ending of a name", function()
    local names = { ["photo.PNG"] = "image/png", ["a.b/c.jpeg"] = "image/jpeg", ["x.tar.gz"] = "application/gzip",
      ["notes.md"] = "text/markdown", ["main.c"] = "text/plain", ["s.mp3"] = "audio/mpeg", ["r.docx"] =
      "application/vnd.openxmlformats-officedocument.wordprocessingml.document", ["v.webm"] = "video/webm" }
    for name, mime in pairs(names) do
      assert.equal(mime, media.of_name(name))
    end
    assert.is_nil(media.of_name "Makefile" or media.of_name "a.unknown" or media.of_name "." or media.of_name "png")
  end)

  it("has one spelling", function()
    assert.equal("image/png", media.normal " Image/PNG ; q=1")
    assert.equal("audio/mpeg", media.normal "audio/mp3")
    assert.equal("image/jpeg", media.normal "image/jpg")
    assert.equal("x", media.normal "x")
    assert.equal("", media.normal "")
  end)

  it("is of a kind", function()
    local kinds = { ["text/csv"] = "text", ["application/json"] = "text", ["application/ld+json"] = "text",
      ["image/svg+xml"] = "image", ["audio/ogg"] = "audio", ["video/mp4"] = "video", ["application/pdf"] = "document",
      ["application/zip"] = "file", ["x/y"] = "file", ["text"] = "file", [""] = "file" }
    for mime, kind in pairs(kinds) do
      assert.equal(kind, media.kind(mime), mime)
    end
    assert.equal("file", media.kind(nil))
  end)

  it("is what the bytes say, unless they are a container of what was said", function()
    local docx = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    local cases = {
      { "\255\216\255", "image/png", "image/jpeg", true }, { "abc", "image/png", "image/png", false },
      { "abc", nil, nil, false }, { "PK\3\4", docx, docx, true }, { "PK\3\4", "image/png", "application/zip", true },
      { "PK\3\4", nil, "application/zip", true }, { "\0\0\0\24ftypisom", "audio/mp4", "audio/mp4", true },
      { "\0\0\0\24ftypisom", "image/png", "video/mp4", true }, { "%PDF-", "text/plain", "application/pdf", true },
    }
    for _, case in ipairs(cases) do
      local mime, recognised = media.decide(case[1], case[2])
      assert.equal(case[3], mime)
      assert.equal(case[4], recognised)
    end
  end)

  it("text is UTF-8 without NUL, and says where it is not", function()
    assert.is_nil(media.text_fault "" or media.text_fault "grün \u{1F600}\r\n\t")
    assert.equal("it is binary: a NUL byte at byte 3", media.text_fault "ab\0c")
    assert.equal("it is not UTF-8 at byte 2", media.text_fault "a\xff")
    assert.equal("it is not UTF-8 at byte 1", media.text_fault "\xc0\x80")
    assert.equal("it is not UTF-8 at byte 1", media.text_fault "\xed\xa0\x80")
  end)
end)

// The beginnings of files, as long as their detection needs.

function hex(digits: string): Buffer {
  return Buffer.from(digits.replaceAll(" ", ""), "hex");
}

/** A PNG of one black pixel. */
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

export const FILES = {
  png: PNG,
  jpeg: hex("FFD8FFE0 00104A46 49460001 01000001 00010000 FFD9"),
  webp: Buffer.concat([Buffer.from("RIFF"), hex("1A000000"), Buffer.from("WEBPVP8 "), Buffer.alloc(18)]),
  gif: Buffer.from("GIF89a\u0001\u0000\u0001\u0000\u0000\u0000\u0000;", "latin1"),
  pdf: Buffer.from("%PDF-1.7\n%âãÏÓ\n1 0 obj\n<<>>\nendobj\ntrailer<<>>\n%%EOF\n", "latin1"),
  mp3: Buffer.concat([Buffer.from("ID3"), hex("03000000000000"), hex("FFFB9064"), Buffer.alloc(400)]),
  wav: Buffer.concat([Buffer.from("RIFF"), hex("24000000"), Buffer.from("WAVEfmt "), Buffer.alloc(28)]),
  ogg: Buffer.concat([
    Buffer.from("OggS"),
    hex("00 02 0000000000000000 00000000 00000000 00000000 01 13"),
    Buffer.from("OpusHead"),
    Buffer.alloc(11),
  ]),
  zip: Buffer.concat([hex("504B0304 14000000 0000"), Buffer.alloc(30)]),
  heic: Buffer.concat([hex("00000018"), Buffer.from("ftypheic"), hex("00000000"), Buffer.from("mif1heic")]),
  text: Buffer.from("tea,cups\n🫖,2\n"),
} as const;

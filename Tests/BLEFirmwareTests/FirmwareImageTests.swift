import BLE
import BLEFirmware
import BLESimulation
import Testing

@Suite struct FirmwareImageTests {
    static let image = FirmwareImage(version: FirmwareVersion(1, 2, 3, build: 4), program: Array(0..<100))

    private func changed(_ change: (inout [UInt8]) -> Void) -> [UInt8] {
        var bytes = Self.image.bytes
        change(&bytes)
        return bytes
    }

    /// An image of 16 bytes that smpclient.mcuboot (PyPI, 7.3.0) parses as version 1.2.3-build4 with this SHA-256.
    @Test func `an image has the layout that other programs know`() throws {
        let image = FirmwareImage(version: FirmwareVersion(1, 2, 3, build: 4), program: Array(0..<16))
        #expect(
            Hex.string(image.bytes)
                == "3db8f396000000002000000010000000000000000102030004000000000000000001020304050607"
                + "08090a0b0c0d0e0f0769280010002000"
                + "04cbb04cff0327ca1d27929d4af2c825fb1d13bdb48fd5fdd935263b6e42d4b3")
        #expect(try FirmwareImage(decoding: image.bytes) == image)
    }

    @Test func `version, hash and flags are read`() throws {
        let image = try FirmwareImage(decoding: Self.image.bytes)
        #expect(image.version.description == "1.2.3.4")
        #expect(image.hash.count == 32)
        #expect(!image.isEncrypted)
    }

    @Test func `each defect has its error`() {
        #expect(throws: FirmwareImageError.truncated(needed: 32, actual: 3)) {
            try FirmwareImage(decoding: [1, 2, 3])
        }
        #expect(throws: FirmwareImageError.wrongMagic(0x96F3_B83E)) {
            try FirmwareImage(decoding: changed { $0[0] = 0x3E })
        }
        #expect(throws: FirmwareImageError.invalidHeaderSize(31)) {
            try FirmwareImage(decoding: changed { $0[8] = 31 })
        }
        #expect(throws: FirmwareImageError.truncated(needed: 0xFFFF_FF84, actual: 172)) {
            try FirmwareImage(decoding: changed { $0.replaceSubrange(12..<16, with: [0x64, 0xFF, 0xFF, 0xFF]) })
        }
        #expect(throws: FirmwareImageError.invalidTLVs(offset: 132)) {
            try FirmwareImage(decoding: changed { $0[132] = 0 })
        }
        #expect(throws: FirmwareImageError.invalidTLVs(offset: 136)) {
            try FirmwareImage(decoding: changed { $0[138] = 31 })
        }
        #expect(throws: FirmwareImageError.noHash) { try FirmwareImage(decoding: changed { $0[136] = 0x20 }) }
        #expect(throws: FirmwareImageError.trailingBytes(count: 1)) {
            try FirmwareImage(decoding: changed { $0.append(0) })
        }
        #expect(throws: FirmwareImageError.severalHashes) {
            try FirmwareImage(
                decoding: changed {
                    $0 += $0[136...]
                    $0[134] = 76
                })
        }
        let error = #expect(throws: FirmwareImageError.self) {
            try FirmwareImage(decoding: changed { $0[60] ^= 1 })
        }
        guard case .wrongHash(let stored, _)? = error else {
            return #expect(Bool(false), "\(String(describing: error))")
        }
        #expect(stored == Self.image.hash)
    }

    @Test func `the hash covers the protected TLVs`() throws {
        // A dependency of 12 bytes, in an area of its own.
        let program = Self.image.bytes[32..<132]
        var bytes = Array(Self.image.bytes[..<32]) + program
        bytes[10] = 20
        bytes += [0x08, 0x69, 20, 0, 0x40, 0, 12, 0] + Array(repeating: 7, count: 12)
        bytes += [0x07, 0x69, 40, 0, 0x10, 0, 32, 0] + Array(repeating: 0, count: 32)
        let error = #expect(throws: FirmwareImageError.self) { try FirmwareImage(decoding: bytes) }
        guard case .wrongHash(_, let computed)? = error else { return #expect(Bool(false)) }
        bytes.replaceSubrange(bytes.count - 32..<bytes.count, with: computed)
        #expect(try FirmwareImage(decoding: bytes).hash == computed)
        bytes[140] ^= 1
        #expect(throws: FirmwareImageError.self) { try FirmwareImage(decoding: bytes) }
    }

    @Test func `the hash of an encrypted image is not checked`() throws {
        let image = try FirmwareImage(
            decoding: changed {
                $0[16] = 0x04
                $0[60] ^= 1
            })
        #expect(image.isEncrypted)
    }

    @Test func `damaged images neither trap nor are accepted`() {
        var random = SeededGenerator(seed: 5)
        for _ in 0..<5_000 {
            let bytes = changed {
                let index = Int.random(in: 0..<$0.count, using: &random)
                $0[index] ^= .random(in: 1...255, using: &random)
                if Bool.random(using: &random) { $0.removeLast(.random(in: 1..<$0.count, using: &random)) }
            }
            guard let image = try? FirmwareImage(decoding: bytes) else { continue }
            // Only the flag of an encrypted image prevents the check.
            #expect(image.isEncrypted)
        }
    }

    @Test(arguments: [
        ("1.2.3", FirmwareVersion(1, 2, 3)), ("0.0", FirmwareVersion(0, 0)),
        ("255.255.65535.4294967295", FirmwareVersion(255, 255, 65535, build: .max)), ("1", nil), ("256.0.0", nil),
        ("1.2.x", nil), ("1..2", nil), ("1.2.3.4.5", nil),
    ]) func `a version is parsed`(_ text: String, _ version: FirmwareVersion?) {
        #expect(FirmwareVersion(text) == version)
    }

    @Test func `versions are ordered`() {
        #expect(FirmwareVersion(1, 9, 0) < FirmwareVersion(1, 10, 0))
        #expect(FirmwareVersion(1, 10, 0) < FirmwareVersion(1, 10, 0, build: 1))
    }
}

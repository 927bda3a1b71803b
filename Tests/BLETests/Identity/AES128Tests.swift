import Testing

@testable import BLE

@Suite struct AES128Tests {
    @Test(arguments: [
        // FIPS 197, appendices B and C.1.
        ("2b7e151628aed2a6abf7158809cf4f3c", "3243f6a8885a308d313198a2e0370734", "3925841d02dc09fbdc118597196a0b32"),
        ("000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff", "69c4e0d86a7b0430d8cdb78070b4c55a"),
        // The ECB example of SP 800-38A, section F.1.1.
        ("2b7e151628aed2a6abf7158809cf4f3c", "6bc1bee22e409f96e93d7e117393172a", "3ad77bb40d7a3660a89ecaf32466ef97"),
        ("2b7e151628aed2a6abf7158809cf4f3c", "f69f2445df4f9b17ad2b417be66c3710", "7b0c785e27e8ad3f8223207104725dd4"),
    ])
    func `the published blocks are encrypted as published`(key: String, block: String, encrypted: String) throws {
        let result = try AES128(key: #require(Hex.bytes(key))).encrypt(#require(Hex.bytes(block)))
        #expect(Hex.string(result) == encrypted)
    }
}

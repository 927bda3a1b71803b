/// Constants that `Tests/cipher-vectors.py` prints: it makes them with Python's `cryptography`, independently of the module.
///
/// The keys are those of RFC 7748, section 6.1, for the pairing (Alice is the central), and counting bytes for the
/// resumption; salt and info are the lock's.
enum CipherVectors {
    static let salt = "9iac7i7zikocotce9gn3ji7lztz8rltn"
    static let info = "smartlockperipheral"
    static let alice = "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"
    static let alicePublic = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
    static let bob = "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"
    static let bobPublic = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"

    static let sharedSecret = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"
    static let pairingKey = "afc342ec18cdb2e850a33e12acf0440b8aac89df7a00562be4bf1c7b824a9686"
    static let identifier = "e4ee507e6f317e03"
    static let sessionKey = "d683cc93777916c1346b1ad6bc2c66a2eb600b85570efeadfae73889082501fb"
    static let resumedSessionKey = "be1dd504ac7c34196059d54ff1c2289290ca794389e2d2d6a83c4e5fb77faad3"
    static let boundRequest = "2201020401010000000000000000000000baded2bf8965c17fc0938935751ebd6c16"
    static let secondBoundRequest = "2101030101010000000000000000000001bd2f1e3f68ad24dd10c110f77e5d6c39"
    static let boundReply = "2102020401020000000000000000000000ce2632eeb2c2156067f4c1e342d2360e"
    static let longestBoundReply =
        "ff020201010200000000000000000001026c62c8ecb90f4f0d053cb411e4af5a574a96a2609a0849a796c5c5fae972fe"
        + "23982571a1dcab9bdc83751f69b61320aaeab1eb94aee0fb490cf93b09700547e9b150de6aacb6cdef362e00ad2401f2"
        + "3d509174ba93e93f64e9fa5493fb3f53a792905a8d4378ca324cb0081bfc97955a00939d08c98e43fcbeee5a462a37de"
        + "d505ec819196b1e9d99ac76eec8616795473a6efe7058e12960c792dda3ed35384baf869fde773e372c231a8ded1229a"
        + "775a73e55a4eef706f917ec26aefb4ab02401106894ac881ecd3d8155ad53571f5b8e8dca45ba1eebce929406ce35e90"
        + "a9c8f70bbff3f8e4145d74c44a0754"
    static let firmwareRequest = "2201020401a0a1a2a3a4a5a6a7a8a9aaab1077006997873f2e39543c12f964f60998"
    static let firmwareReply = "2102020401b0b1b2b3b4b5b6b7b8b9babb1cc853eb87d0f5d444080a84be13868f"
}

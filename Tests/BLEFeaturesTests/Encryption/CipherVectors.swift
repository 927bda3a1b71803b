/// Constants that `Tests/Tools/Differential/cipher_vectors.py` prints: it computes them from `Docs/MessageEncryption.md` with Python's
/// `cryptography`, independently of the module.
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
    static let firmwareKey = "afc342ec18cdb2e850a33e12acf0440b8aac89df7a00562be4bf1c7b824a9686"
    static let pairingKey = "83976c993d09206cdb4505d0e11b82dd5273e5336fb16f8ff00269617195cdfa"
    static let sessionKey = "9721fa95b99d2a348da5187ac75cf2d624286a0ba73d8e3efe529a0c426c3c1f"
    static let exchangeRequest = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
    static let exchangeReply =
        "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f69911940cd8ceb9b8518aae81c397b25"
    static let confirmation = "2101010301010000000000000000000000719c65e6ab5f0e832a2652210dd3d5bc"
    static let confirmationReply = "210201030102000000000000000000000061927fff9773e3a01466dbe9b02be0f4"
    static let resumptionRequest = "07a37cbc142093c8b755dc1b10e86cb426374ad16aa853ed0bdfc0b2b86d1c7cf13078b404a0ba6b"
    static let resumptionReply =
        "5869aff450549732cbaaed5e5df9b30a6da31cb0e5742bad5ad4a1a768f1a67b7d20148e98396776fbd9cd3a39e43e48"
    static let resumedSessionKey = "e6d5496cea486cae98cc0b24ed15a7fda956aab25c84e5e3367969af5166a1b3"
    static let boundRequest = "220102040101000000000000000000000037d7b0b44fccace963901098ee95103acc"
    static let secondBoundRequest = "2101030101010000000000000000000001aea7217dea3656a48695e08869b57136"
    static let boundReply = "210202040102000000000000000000000005a5f62ff04aa399d499c7607d7a2220"
    static let otherBoundReply = "2102020401020000000000000000000000ec906f7ff912e23743bf2cfcb7e6b267"
    static let boundNotification = "21030204010200000000000000000000006a3576d6d832b6906239dff2a2d094e6"
    static let longestBoundReply =
        "ff020201010200000000000000000001027d38bc418c3efeceb4faef90ea734922b2cd699597ca73039f6722b4ddae54"
        + "ab22aa056863d24660635b9b0ea930332aae81fe779b9a5a55e6e7484df969e3a9411f35f14f3a9334e974a28b167083"
        + "c97e040361eb3be4bd22be97d3a0e635d54090b9af10046237b5e1d5829e03c8e8cd2f1daf03c557d83623b5d03eba0a"
        + "86ce5f89379678230317e3f4f56e39366b93f14d75c1d3e0780226fa567f050775de147c19b6aa159e3b4f98de24253f"
        + "8830b2da2330802de32c27be85735f47974f49d46347c8747f8a5c8fba51144064881a827c203befbbc67435ad95d47c"
        + "0f14d709946f2b5fcb10dcc1db55b4"
    static let firmwareRequest = "2201020401a0a1a2a3a4a5a6a7a8a9aaab1077006997873f2e39543c12f964f60998"
    static let firmwareReply = "2102020401b0b1b2b3b4b5b6b7b8b9babb1cc853eb87d0f5d444080a84be13868f"
}

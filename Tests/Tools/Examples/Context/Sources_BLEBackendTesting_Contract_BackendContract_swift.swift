private let peer: any ContractPeer = given()
